package enginecases

import (
	"context"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func deliveryClasses[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ATransactionEffectWritesWithItsStep", transactionEffect[Tx]},
		{"KeyedRepeatsCarryTheSameKey", keyedRepeats[Tx]},
		{"AQueryableEffectIsAskedForBeforeItsFirstClaim", queryableAskedFirst[Tx]},
		{"AQueryableEffectIsAskedForBeforeARepeat", queryableAsked[Tx]},
		{"AQueryableEffectThatIsNotThereIsRepeated", queryableRepeated[Tx]},
		{"AnAtMostOnceEffectIsNotRepeatedItsLossIsAnEvent", atMostOnce[Tx]},
		{"ACleanupRunsBeforeARepeat", cleanupFirst[Tx]},
		{"OneDestinationIsInOrderOthersGoOn", destinations[Tx]},
		{"ADeadLetterBlocksUntilAnOperatorRequeuesIt", requeued[Tx]},
		{"ADeadLetterBlocksUntilAnOperatorDiscardsIt", discarded[Tx]},
		{"AMessageIsDeliveredThoughItsStateWasLeft", messageStays[Tx]},
		{"AReturnThatIsADeadLetterHoldsBackNoPayout", returnRefused[Tx]},
	}
}

func transactionEffect[Tx any](f *fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE ledger (n integer NOT NULL)") }))
	f.handlers.inTx = func(ctx context.Context, tx Tx, d fsm.Dispatch) error {
		return f.Exec(ctx, tx, "INSERT INTO ledger (n) VALUES (1)")
	}
	id := f.paid()
	f.wantCalls("ledger_deposit", 1)
	f.WantCount("ledger", 1)
	f.mustFire("deal", id, deposit(id, 100), fsm.System()) // replayed
	f.WantCount("ledger", 1)
	f.WantCount("fsm_outbox WHERE effect = 'ledger_deposit'", 0)
}

func keyedRepeats[Tx any](f *fixture[Tx]) {
	f.handlers.fail("deal.events")
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	for range 3 {
		f.stepAll()
		f.advance(time.Hour)
	}
	calls := f.wantCalls("deal.events", 3)
	for i, d := range calls {
		if d.ID != calls[0].ID || d.Attempt != i+1 || string(d.Payload) != string(calls[0].Payload) {
			f.Errorf("attempt %d is %s, the first %s", i+1, storetest.Text(d), storetest.Text(calls[0]))
		}
	}
}

// refunding creates a deal whose refund is requested. Its first attempt fails without
// saying whether the money was sent.
func (f *fixture[Tx]) refunding() (id string) {
	f.Helper()
	id = f.paid()
	f.handlers.fail("execute_refund")
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Owner)
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("execute_refund", 1)
	// The message was not inserted claimed, so it was queried before the first attempt.
	if len(f.handlers.queries) != 1 {
		f.Fatalf("before the first attempt it was asked for by %s", storetest.Text(f.handlers.queries))
	}
	f.advance(time.Hour)
	return id
}

// queryableAskedFirst has the refund happen before the first attempt that the message
// knows of, as after a restore of the database.
func queryableAskedFirst[Tx any](f *fixture[Tx]) {
	f.handlers.set("?execute_refund", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil }) // it is there
	id := f.paid()
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Owner)
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("execute_refund", 0)
	f.WantCount("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

func queryableAsked[Tx any](f *fixture[Tx]) {
	f.refunding()
	f.handlers.set("?execute_refund", func(context.Context, fsm.Dispatch) (*fsm.Event, error) { return nil, nil }) // it is there
	f.stepAll()
	f.wantCalls("execute_refund", 1)
	f.WantCount("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

func queryableRepeated[Tx any](f *fixture[Tx]) {
	f.refunding()
	f.handlers.set("execute_refund", nil)
	f.stepAll()
	calls := f.wantCalls("execute_refund", 2)
	if len(f.handlers.queries) != 2 || f.handlers.queries[1].ID != calls[1].ID {
		f.Fatalf("it was asked for by %s", storetest.Text(f.handlers.queries))
	}
	f.WantCount("fsm_outbox WHERE effect = 'execute_refund' AND state = 'delivered'", 1)
}

// dieHolding claims what is due and does nothing with it, as a worker that dies. It
// returns the claimed effects and events. Their leases are over when it returns.
func (f *fixture[Tx]) dieHolding() (held []string) {
	f.Helper()
	c := f.Claim(0, f.Now())
	c.Token = f.token()
	tasks, err := f.Store.Claim(f.Context(), c)
	f.Must(err)
	for _, t := range tasks {
		held = append(held, t.Effect.Effect+t.Deadline.Event.Name)
	}
	f.advance(time.Minute)
	return held
}

// extracting creates a run that is about to extract.
func (f *fixture[Tx]) extracting() string {
	f.Helper()
	f.handlers.answer("check_unpacked", unpack.Checked{DeviceID: "12345678"})
	f.handlers.answer("create_device", unpack.DeviceReady{DevicePath: "/dev/x"})
	id := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	for range 2 {
		_, err := f.engine.Step(f.Context())
		f.Must(err)
	}
	f.wantState("unpack", id, "extract-layers", 3)
	return id
}

func atMostOnce[Tx any](f *fixture[Tx]) {
	id := f.extracting()
	if held := f.dieHolding(); !slices.Equal(held, []string{"extract_layers"}) {
		f.Fatalf("the dead worker held %v", held)
	}
	f.handlers.set("create_device", nil)
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	f.wantCalls("extract_layers", 0)
	f.wantState("unpack", id, "create-device", 4)
	f.WantCount("unpack_history WHERE event_type = 'EXTRACT_LOST'", 1)
}

// cleanupFirst has a worker die while it creates a device. The device is queried, its
// remains are destroyed, and it is created again.
func cleanupFirst[Tx any](f *fixture[Tx]) {
	f.handlers.answer("check_unpacked", unpack.Checked{DeviceID: "12345678"})
	id := f.mustCreate("unpack", unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System())
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	if held := f.dieHolding(); !slices.Equal(held, []string{"create_device"}) {
		f.Fatalf("the dead worker held %v", held)
	}
	f.handlers.answer("create_device", unpack.DeviceReady{DevicePath: "/dev/x"})
	_, err = f.engine.Step(f.Context())
	f.Must(err)
	if got := f.handlers.order(); !slices.Equal(got, []string{"check_unpacked", "destroy_device", "create_device"}) || len(f.handlers.queries) != 1 {
		f.Fatalf("called %v, asked %d times", got, len(f.handlers.queries))
	}
	f.wantState("unpack", id, "extract-layers", 3)
}

// publishing creates a deal that requests two effects of the scheduler, to enable
// publishing and then to schedule the post, and effects of other destinations.
func (f *fixture[Tx]) publishing() string {
	f.Helper()
	id := f.paid()
	f.mustFire("deal", id, deal.SubmitDraft{Creative: fsm.JSON(`{}`)}, storetest.Owner)
	f.stepAll()
	f.handlers.mu.Lock()
	f.handlers.calls = nil
	f.handlers.mu.Unlock()
	f.mustFire("deal", id, deal.Approve{}, storetest.Advertiser)
	f.mustFire("deal", id, deal.SetPublishTime{PublishAt: f.Now()}, storetest.Owner)
	return id
}

func destinations[Tx any](f *fixture[Tx]) {
	f.handlers.fail("enable_publishing")
	f.publishing()
	f.stepAll()
	f.wantCalls("enable_publishing", 1)
	f.wantCalls("schedule_post", 0) // behind it
	f.wantCalls("deal.events", 2)   // elsewhere
	f.wantCalls("notify_owner", 1)
	f.handlers.set("enable_publishing", nil)
	f.advance(time.Hour)
	f.stepAll()
	got := slices.DeleteFunc(f.handlers.order(), func(name string) bool { return name == "deal.events" || name == "notify_owner" })
	if !slices.Equal(got, []string{"enable_publishing", "enable_publishing", "schedule_post"}) {
		f.Fatalf("called %v", got)
	}
}

func messageStays[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Withdraw{}, storetest.Advertiser)
	f.stepAll()
	f.wantCalls("notify_owner", 2) // of the offer, and of its withdrawal
}
