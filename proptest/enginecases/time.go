package enginecases

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func deadlinesAreRows[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"ADeadlineFiresWhenItIsDue", deadlineFires[Tx]},
		{"AConsentDoesNotClearIt", consentKeeps[Tx]},
		{"ALateDeadlineIsANoOp", lateDeadlineIsNoOp[Tx]},
		{"ARefusedDeadlineIsConsumedLoggedAndCounted", refusedDeadline[Tx]},
		{"AnEndedRecordHasNone", endedHasNone[Tx]},
	}
}

func deadlineFires[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.advance(48*time.Hour - time.Microsecond)
	f.stepAll()
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.advance(time.Microsecond)
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 3)
	f.WantCount("deal_events WHERE event_type = 'EXPIRE' AND actor_role = 'system'", 1)
	f.WantCount("fsm_deadlines", 0)
}

// consentKeeps records a consent, a step that stays in FUNDED, before the 72 h of that
// state are over. The deadline still ends the state.
func consentKeeps[Tx any](f *fixture[Tx]) {
	id := f.paid()
	f.advance(time.Hour)
	f.mustFire("deal", id, deal.MutualCancel{}, storetest.Owner)
	f.wantState("deal", id, "FUNDED", 6)
	f.advance(71*time.Hour - time.Second)
	f.stepAll()
	f.wantState("deal", id, "FUNDED", 6)
	f.advance(time.Second)
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 7)
}

// lateDeadlineIsNoOp leaves a state while a worker holds its due deadline.
func lateDeadlineIsNoOp[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.stepAll()
	f.advance(48 * time.Hour)
	if held := f.dieHolding(); !slices.Equal(held, []string{"EXPIRE"}) {
		f.Fatalf("the dead worker held %v", held)
	}
	f.mustFire("deal", id, deal.CounterOffer{PriceNano: 90}, storetest.Owner)
	f.stepAll()
	f.wantState("deal", id, "NEGOTIATING", 3)
	f.advance(72 * time.Hour) // that state's own
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 4)
}

func refusedDeadline[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	h := storetest.Existing(f.Deals, id, 1)
	f.AllowAnyRows(f.T)
	c := f.EmptyCommit(h)
	c.SetDeadlines = []store.Deadline{f.Deadline(h, storetest.StartTime)} // EXPIRE, which DRAFT does not know
	f.Must(f.Save(c))
	f.stepAll()
	f.wantState("deal", id, "DRAFT", 1)
	f.WantCount("fsm_deadlines", 0)
	if f.counted(engine.MetricRefusedDeadlines) != 1 || !f.log.has("deadline refused") || !f.log.has(id) {
		f.Fatalf("it was counted %d times", f.counted(engine.MetricRefusedDeadlines))
	}
}

func endedHasNone[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.mustFire("deal", id, deal.Withdraw{}, storetest.Advertiser)
	f.WantCount("fsm_deadlines", 0)
	f.advance(1000 * time.Hour)
	f.stepAll()
	f.wantState("deal", id, "CANCELLED", 3)
}

func crashes[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"AWorkerDiesAtEveryStepAndTheRecordArrives", diesAtEveryStep[Tx]},
		{"ADeadlineSurvivesItsWorker", deadlineSurvives[Tx]},
		{"AllAttemptsSpentByCrashesIsADeadLetter", attemptsSpentByCrashes[Tx]},
	}
}

// diesAtEveryStep registers a node while every task is first claimed by a worker that
// dies. The timeouts of the states are moved away.
func diesAtEveryStep[Tx any](f *fixture[Tx]) {
	f.Registrations = registration.Define[Tx](nil, registration.Params{
		ValidatingTimeout: time.Hour, RegisteringPostgresTimeout: time.Hour, RegisteringConsulTimeout: time.Hour, DeregisteringTimeout: time.Hour,
	})
	f.restart()
	f.handlers.answer("validate_payload", registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed})
	f.handlers.answer("postgres.upsert_registration", registration.PostgresSucceeded{PostgresApplied: true})
	f.handlers.answer("consul.register", registration.ConsulSucceeded{ConsulApplied: true})
	h := f.Registered("n1")
	r := f.Message(h, 0, "x")
	r.Work, r.Effect, r.Destination, r.Payload, r.Delivery = true, "validate_payload", "validate_payload", []byte(`{"node_id":"n1"}`), fsm.Idempotent
	f.AllowAnyRows(f.T)
	c := f.EmptyCommit(h)
	c.Outbox = []store.OutboxMessage{r}
	f.Must(f.Save(c))
	var held []string
	for range 3 {
		held = append(held, f.dieHolding()...)
		f.restart()
		_, err := f.engine.Step(f.Context())
		f.Must(err)
	}
	if want := []string{"validate_payload", "postgres.upsert_registration", "consul.register"}; !slices.Equal(held, want) {
		f.Fatalf("the dead workers held %v", held)
	}
	for _, effect := range held {
		if d := f.wantCalls(effect, 1)[0]; d.Attempt != 2 {
			f.Errorf("%s was attempt %d", effect, d.Attempt)
		}
	}
	page, err := f.engine.List(f.Context(), "registration", "registered", "", 10)
	f.Must(err)
	if len(page) != 1 {
		f.Fatalf("%d registrations arrived", len(page))
	}
}

func deadlineSurvives[Tx any](f *fixture[Tx]) {
	id := f.offered()
	f.stepAll()
	f.advance(48 * time.Hour)
	f.dieHolding()
	f.restart()
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 3)
}

// attemptsSpentByCrashes lets every worker that claims a message die. When the attempts
// are spent, no handler is called any more.
func attemptsSpentByCrashes[Tx any](f *fixture[Tx]) {
	f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	for range 30 {
		f.dieHolding()
	}
	f.stepAll()
	f.wantCalls("deal.events", 0)
	messages, err := f.engine.DeadLetters(f.Context(), store.Filter{Machine: "deal"}, "", 10)
	f.Must(err)
	if len(messages) != 1 || messages[0].LastError == "" {
		f.Fatalf("the dead letters are %s", storetest.Text(messages))
	}
}

func databaseRefuses[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"WhatTheMachineCannotAnOperatorCannot", handWrittenRefused[Tx]},
		{"RowsThatNoStepAsksForAreRefused", madeUpRows[Tx]},
		{"TheRulesOfOtherMachinesStay", otherRulesStay[Tx]},
	}
}

// handWrittenRefused runs statements that operators type into databases.
func handWrittenRefused[Tx any](f *fixture[Tx]) {
	id := f.paid()
	const step = "version = version + 1, last_event = "
	for name, statement := range map[string]string{
		"the state alone":                   "UPDATE deals SET status = 'CANCELLED'",
		"an edge that there is not":         "UPDATE deals SET " + step + "'RESOLVE_FOR_OWNER', status = 'COMPLETED_RELEASED', escrow = 'released'",
		"no state":                          "UPDATE deals SET " + step + "'SUBMIT_DRAFT', status = 'SUBMITTED'",
		"a state without what it holds":     "UPDATE deals SET " + step + "'SUBMIT_DRAFT', status = 'CREATIVE_SUBMITTED', creative = NULL",
		"a version too far":                 "UPDATE deals SET version = version + 2, last_event = 'MUTUAL_CANCEL'",
		"a field that is written once":      "UPDATE deals SET " + step + "'MUTUAL_CANCEL', owner_id = 9",
		"a field that the event leaves":     "UPDATE deals SET " + step + "'DEPOSIT_CONFIRMED', price_nano = 1",
		"a record away":                     "DELETE FROM deals",
		"history away":                      "DELETE FROM deal_events",
		"history anew":                      "UPDATE deal_events SET to_status = 'DRAFT'",
		"a message into no state":           "UPDATE fsm_outbox SET state = 'lost'",
		"a message with no time to be sent": "UPDATE fsm_outbox SET state = 'pending', available_at = NULL",
	} {
		err := f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, statement) })
		if err == nil {
			f.Errorf("%s: the database accepts %s", name, statement)
		}
	}
	f.wantState("deal", id, "FUNDED", 5)
	// The same statements pass for a step that the machine has, so the refusals above are no accident.
	const history = `INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, created_at)
		SELECT deal_id, deal_id, version, last_event, status, status, 'refund_extra', 'system', updated_at FROM deals`
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		return errors.Join(f.Exec(f.Context(), tx, "UPDATE deals SET "+step+"'DEPOSIT_CONFIRMED'"), f.Exec(f.Context(), tx, history))
	}))
}

// madeUpRows saves messages, deadlines and keys that no step of a record asks for.
func madeUpRows[Tx any](f *fixture[Tx]) {
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	h := storetest.Existing(f.Deals, id, 1)
	later := storetest.Existing(f.Deals, id, 2)
	elsewhere := storetest.Existing(f.Deals, f.NewID(), 1)
	for name, make := range map[string]func(c *store.Commit){
		"a message that the step does not ask for": func(c *store.Commit) { c.Outbox = []store.OutboxMessage{f.Message(h, 0, "owner_notifications")} },
		"a message of a step to come":              func(c *store.Commit) { c.Outbox = []store.OutboxMessage{f.Message(later, 0, "owner_notifications")} },
		"a message of no record": func(c *store.Commit) {
			c.Outbox = []store.OutboxMessage{f.Message(elsewhere, 0, "owner_notifications")}
		},
		"a deadline that the state does not set": func(c *store.Commit) { c.SetDeadlines = []store.Deadline{f.Deadline(h, storetest.StartTime)} },
		"a deadline of no record":                func(c *store.Commit) { c.SetDeadlines = []store.Deadline{f.Deadline(elsewhere, storetest.StartTime)} },
		"a key of a step to come": func(c *store.Commit) {
			c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "one", RecordID: id, Event: "SUBMIT_OFFER", Version: 2, CreatedAt: storetest.StartTime}}
		},
		"a key of an event that did not lead there": func(c *store.Commit) {
			c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "one", RecordID: id, Event: "CANCEL", Version: 1, CreatedAt: storetest.StartTime}}
		},
		"a key of a step that was taken at no such time": func(c *store.Commit) {
			c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "one", RecordID: id, Event: "CREATE", Version: 1, CreatedAt: storetest.StartTime.Add(time.Second)}}
		},
	} {
		c := f.EmptyCommit(h)
		make(&c)
		if err := f.Save(c); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "fsmgen: fsm_") {
			f.Errorf("%s: the error is %v", name, err)
		}
	}
}

// otherRulesStay has a process migrate that knows one machine only. The rows of the other
// machines are still accepted and still checked.
func otherRulesStay[Tx any](f *fixture[Tx]) {
	f.Must(f.Reopen(f.T).Migrate(f.Context(), []store.Machine{f.Deals}))
	w := f.walClaimed()
	f.offered()
	h := storetest.Existing(f.WALs, w, 2)
	c := f.EmptyCommit(h)
	c.Outbox = []store.OutboxMessage{f.Message(h, 0, "owner_notifications")}
	f.WantError(f.Save(c), store.ErrRefused)
}

func correlation[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"OneIDFromTheCallToTheLastConsequence", correlationEndToEnd[Tx]},
	}
}

// correlationEndToEnd starts a download with a correlation id. The id is in the histories
// of all three machines of the chain, and in every call.
func correlationEndToEnd[Tx any](f *fixture[Tx]) {
	const id = "c-42"
	f.handlers.answer("check_exists", download.Checked{})
	f.handlers.answer("download_object", download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3})
	f.handlers.answer("validate_file", valid)
	f.handlers.answer("check_unpacked", unpackHandoff)
	_, err := f.engine.Create(f.Context(), "download", f.NewID(), download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, engine.Call{Correlation: id})
	f.Must(err)
	f.stepAll()
	for _, table := range []string{"download_history", "unpack_history", "activate_history"} {
		all := f.Count(f.T, table)
		if all == 0 {
			f.Errorf("%s is empty", table)
		}
		f.WantCount(fmt.Sprintf("%s WHERE correlation_id = '%s'", table, id), all)
	}
	for _, d := range f.handlers.calls {
		if d.Correlation != id {
			f.Errorf("%s was called for %q", d.Effect, d.Correlation)
		}
	}
}
