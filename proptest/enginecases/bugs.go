package enginecases

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// unpackHandoff says that there is nothing to unpack.
var unpackHandoff = unpack.Checked{RowVerified: true, RowChecksum: fsm.Some("c"), DeviceExists: true, FoundPath: fsm.Some("/dev/x"), DeviceID: "12345678"}

func bugsOfOthers[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"TwoActiveRunsEachResumeTheirUnfinishedStep", twoActiveRuns[Tx]},
		{"ShipAndRefundOnOneOrderAreNotBothTaken", shipAndRefund[Tx]},
		{"TheVersionIsInTheWhereClause", noLostUpdate[Tx]},
		{"AHandlerThatFiresAnEventDoesNotDeadlock", handlerFires[Tx]},
		{"TheStateColumnCannotBeWrittenByHand", handWrittenRefused[Tx]},
		{"ARefusalSaysWhichGuardAndWhatItSaw", refusalExplains[Tx]},
		{"DeadlinesComeBackAfterARestart", deadlinesComeBack[Tx]},
		{"AStateThatTheTableNoLongerHasIsNotGuessed", unknownState[Tx]},
	}
}

// twoActiveRuns restarts with two runs in the middle of their work. If the runs shared a
// list of completed steps, the second would skip its own.
func twoActiveRuns[Tx any](f *fixture[Tx]) {
	f.handlers.answer("check_exists", download.Checked{})
	var ids []string
	for _, image := range []string{"one", "two"} {
		ids = append(ids, f.mustCreate("download", download.Start{ImageID: image, S3Key: image, Bucket: "b"}, fsm.System()))
	}
	_, err := f.engine.Step(f.Context())
	f.Must(err)
	if held := f.dieHolding(); !slices.Equal(held, []string{"download_object", "download_object"}) {
		f.Fatalf("the dead worker held %v", held)
	}
	f.restart()
	f.handlers.answer("download_object", download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3})
	f.handlers.answer("validate_file", valid)
	f.handlers.answer("check_unpacked", unpackHandoff)
	f.stepAll()
	for _, id := range ids {
		f.wantState("download", id, "COMPLETE", 5)
	}
	for _, effect := range []string{"download_object", "validate_file", "check_unpacked"} {
		calls := f.wantCalls(effect, 2)
		if calls[0].Record == calls[1].Record {
			f.Errorf("%s was done for one of the runs twice", effect)
		}
	}
}

// shipAndRefund has concurrent callers fire two events that exclude each other. Only one
// of the two is reported as accepted, and only its effects happen.
func shipAndRefund[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.handlers.answer("generate_deposit_address", deal.AddressReady{DepositAddress: "a"})
	var mu sync.Mutex
	took := map[string]int{}
	f.Concurrently(func(db store.Store[Tx], i int) error {
		event, by := fsm.Payload(deal.Accept{}), storetest.Owner
		if i/2%2 == 1 {
			event, by = deal.Withdraw{}, storetest.Advertiser
		}
		o, err := f.newEngine(db, f.config).Fire(f.Context(), "deal", id, event, engine.Call{By: by})
		var x *fsm.Rejection
		if errors.As(err, &x) || errors.Is(err, store.ErrConflict) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		if len(o.Steps) > 0 {
			took[event.EventName()]++
		} else if err == nil && !o.AlreadyThere {
			f.Errorf("%s was neither taken nor refused", event.EventName())
		}
		return err
	})
	if len(took) != 1 || took["ACCEPT"]+took["WITHDRAW"] != 1 {
		f.Fatalf("taken: %v", took)
	}
	f.stepAll()
	f.wantCalls("generate_deposit_address", took["ACCEPT"])
	f.WantCount("deal_events WHERE event_type IN ('ACCEPT', 'WITHDRAW')", 1)
	f.WantCount("fsm_outbox WHERE effect = 'notify_advertiser'", took["ACCEPT"])
}

// noLostUpdate has both parties consent at the same moment, many times. With an update by
// id alone, one consent would overwrite the other, and the deal would hang.
func noLostUpdate[Tx any](f *fixture[Tx]) {
	for range 5 {
		id := f.paid()
		f.Concurrently(func(db store.Store[Tx], i int) error {
			by := storetest.Advertiser
			if i%2 == 1 {
				by = storetest.Owner
			}
			e := f.newEngine(db, f.config)
			for {
				_, err := e.Fire(f.Context(), "deal", id, deal.MutualCancel{}, engine.Call{By: by})
				var x *fsm.Rejection
				switch {
				case errors.Is(err, store.ErrConflict):
					continue // the event is still wanted
				case errors.As(err, &x):
					return nil
				}
				return err
			}
		})
		f.WantCount("deals WHERE deal_id = '"+id+"' AND status = 'CANCELLED' AND advertiser_cancels AND owner_cancels", 1)
	}
}

// handlerFires has a handler fire events of its own record and of another.
func handlerFires[Tx any](f *fixture[Tx]) {
	other := f.offered()
	f.stepAll()
	f.handlers.set("notify_owner", func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
		for _, id := range []string{d.Record, other} {
			ctx, cancel := context.WithTimeout(f.Context(), lastResort)
			defer cancel()
			if _, err := f.engine.Fire(ctx, "deal", id, deal.CounterOffer{PriceNano: 90}, engine.Call{By: storetest.Owner}); err != nil {
				return nil, err
			}
		}
		return nil, nil
	})
	id := f.offered()
	f.stepAll()
	f.wantState("deal", id, "NEGOTIATING", 3)
	f.wantState("deal", other, "NEGOTIATING", 3)
	f.WantCount("fsm_outbox WHERE state <> 'delivered'", 0)
}

func refusalExplains[Tx any](f *fixture[Tx]) {
	id := f.validating("img")
	_, err := f.engine.Fire(f.Context(), "download", id, download.Start{ImageID: "x", S3Key: "k", Bucket: "b"}, engine.Call{})
	x := storetest.As[*fsm.Rejection](f, err)
	if x.State != "validate" || x.Event != "START" || !slices.Contains(x.Legal, "VALIDATED") {
		f.Errorf("the refusal says %s", storetest.Text(x))
	}
	w := f.walClaimed()
	_, err = f.engine.Fire(f.Context(), "wal", w, walFailure, engine.Call{By: walWorker})
	x = storetest.As[*fsm.Rejection](f, err)
	if !errors.Is(err, fsm.ErrRefused) || x.Failure != "stale_claim" || len(x.Rows) == 0 || len(x.Rows[0].Seen) != 2 {
		f.Fatalf("the refusal says %s", storetest.Text(x))
	}
}

// deadlinesComeBack restarts the engine before a deadline is due. Then it deletes a
// deadline, which an operator restores.
func deadlinesComeBack[Tx any](f *fixture[Tx]) {
	id, lost := f.offered(), f.offered()
	f.ExecUnchecked(f.T, "fsm_deadlines", "DELETE FROM fsm_deadlines WHERE record_id = '"+lost+"'")
	f.restart()
	f.advance(24 * time.Hour)
	did, err := f.engine.Resume(f.Context(), "deal", lost, "ann", "the deadline is gone")
	f.Must(err)
	if !did.Deadline {
		f.Fatalf("it did %+v", did)
	}
	f.advance(24 * time.Hour) // 48 h from the entry, not from the repair
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 3)
	f.wantState("deal", lost, "EXPIRED", 3)
}

// unknownState has a record in a state that the table does not have. The engine reports
// it, does nothing to it, and continues with the others.
func unknownState[Tx any](f *fixture[Tx]) {
	id, other := f.offered(), f.offered()
	f.Corrupt(f.Deals, id)
	_, err := f.engine.Fire(f.Context(), "deal", id, deal.Withdraw{}, engine.Call{By: storetest.Advertiser})
	if e := storetest.As[*store.CorruptError](f, err); e.ID != id {
		f.Fatalf("the error says %v", e)
	}
	_, err = f.engine.Get(f.Context(), "deal", id)
	f.WantError(err, store.ErrCorrupt)
	f.advance(48 * time.Hour)
	f.stepAll()
	f.wantState("deal", other, "EXPIRED", 3)
	f.WantCount("deals WHERE status = 'nowhere'", 1)
}
