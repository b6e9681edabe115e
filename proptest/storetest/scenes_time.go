package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func deadlinesAreRows[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"ADeadlineFiresWhenItIsDue", deadlineFires[Tx]},
		{"AConsentDoesNotKillIt", consentKeeps[Tx]},
		{"ALateDeadlineIsANoOp", lateDeadlineIsNoOp[Tx]},
		{"ARefusedDeadlineIsConsumedLoggedAndCounted", refusedDeadline[Tx]},
		{"AnEndedRecordHasNone", endedHasNone[Tx]},
	}
}

func deadlineFires[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.tick(48*time.Hour - time.Microsecond)
	s.steps()
	s.in("deal", id, "OFFER_PENDING", 2)
	s.tick(time.Microsecond)
	s.steps()
	s.in("deal", id, "EXPIRED", 3)
	s.counts("deal_events WHERE event_type = 'EXPIRE' AND actor_role = 'system'", 1)
	s.counts("fsm_deadlines", 0)
}

// consentKeeps records a consent, a step that stays in FUNDED, before the 72 h
// of that state are over: they still end it.
func consentKeeps[Tx any](s *stage[Tx]) {
	id := s.paid()
	s.tick(time.Hour)
	s.accepts("deal", id, deal.MutualCancel{}, owner)
	s.in("deal", id, "FUNDED", 6)
	s.tick(71*time.Hour - time.Second)
	s.steps()
	s.in("deal", id, "FUNDED", 6)
	s.tick(time.Second)
	s.steps()
	s.in("deal", id, "EXPIRED", 7)
}

// lateDeadlineIsNoOp leaves a state while a worker holds its due deadline.
func lateDeadlineIsNoOp[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.steps()
	s.tick(48 * time.Hour)
	if held := s.dies(); !slices.Equal(held, []string{"EXPIRE"}) {
		s.Fatalf("the dead worker held %v", held)
	}
	s.accepts("deal", id, deal.CounterOffer{PriceNano: 90}, owner)
	s.steps()
	s.in("deal", id, "NEGOTIATING", 3)
	s.tick(72 * time.Hour) // that state's own
	s.steps()
	s.in("deal", id, "EXPIRED", 4)
}

func refusedDeadline[Tx any](s *stage[Tx]) {
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	h := head[Tx]{machine: s.deals, id: id, version: 1}
	s.Unjudged(s.T)
	c := s.about(h)
	c.SetDeadlines = []store.Deadline{s.deadline(h, epoch)} // EXPIRE, which DRAFT does not know
	s.must(s.save(c))
	s.steps()
	s.in("deal", id, "DRAFT", 1)
	s.counts("fsm_deadlines", 0)
	if s.counted(engine.MetricRefusedDeadlines) != 1 || !s.log.has("deadline refused") || !s.log.has(id) {
		s.Fatalf("it was counted %d times", s.counted(engine.MetricRefusedDeadlines))
	}
}

func endedHasNone[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.accepts("deal", id, deal.Withdraw{}, advertiser)
	s.counts("fsm_deadlines", 0)
	s.tick(1000 * time.Hour)
	s.steps()
	s.in("deal", id, "CANCELLED", 3)
}

func crashes[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"AWorkerDiesAtEveryStepAndTheRecordArrives", diesAtEveryStep[Tx]},
		{"ADeadlineOutlivesItsWorker", deadlineOutlives[Tx]},
		{"AllAttemptsSpentByCrashesIsADeadLetter", spentByCrashes[Tx]},
	}
}

// diesAtEveryStep registers a node while every task is first taken by a worker
// that dies. The timeouts of the states are set aside.
func diesAtEveryStep[Tx any](s *stage[Tx]) {
	s.registrations = registration.Define[Tx](nil, registration.Params{
		ValidatingTimeout: time.Hour, RegisteringPostgresTimeout: time.Hour, RegisteringConsulTimeout: time.Hour, DeregisteringTimeout: time.Hour,
	})
	s.restart()
	s.script.answers("validate_payload", registration.ValidationPassed{ValidationResult: registration.ValidationOutcomePassed})
	s.script.answers("postgres.upsert_registration", registration.PostgresSucceeded{PostgresApplied: true})
	s.script.answers("consul.register", registration.ConsulSucceeded{ConsulApplied: true})
	h := s.registered("n1")
	r := s.work(h, 0, "x")
	r.Effect, r.Destination, r.Payload, r.Delivery = "validate_payload", "validate_payload", []byte(`{"node_id":"n1"}`), fsm.Idempotent
	s.Unjudged(s.T)
	s.send(h, r)
	var held []string
	for range 3 {
		held = append(held, s.dies()...)
		s.restart()
		_, err := s.engine.Step(s.ctx)
		s.must(err)
	}
	if want := []string{"validate_payload", "postgres.upsert_registration", "consul.register"}; !slices.Equal(held, want) {
		s.Fatalf("the dead workers held %v", held)
	}
	for _, effect := range held {
		if d := s.only(effect, 1)[0]; d.Attempt != 2 {
			s.Errorf("%s was attempt %d", effect, d.Attempt)
		}
	}
	page, err := s.engine.List(s.ctx, "registration", "registered", "", 10)
	s.must(err)
	if len(page) != 1 {
		s.Fatalf("%d registrations arrived", len(page))
	}
}

func deadlineOutlives[Tx any](s *stage[Tx]) {
	id := s.offered()
	s.steps()
	s.tick(48 * time.Hour)
	s.dies()
	s.restart()
	s.steps()
	s.in("deal", id, "EXPIRED", 3)
}

// spentByCrashes lets each worker that takes a message die: in the end nobody
// is asked to take it any more.
func spentByCrashes[Tx any](s *stage[Tx]) {
	s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	for range 30 {
		s.dies()
	}
	s.steps()
	s.only("deal.events", 0)
	letters, err := s.engine.DeadLetters(s.ctx, store.Filter{Machine: "deal"}, "", 10)
	s.must(err)
	if len(letters) != 1 || letters[0].LastError == "" {
		s.Fatalf("the dead letters are %s", text(letters))
	}
}

func databaseRefuses[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"WhatTheMachineCannotAPersonCannot", personCannot[Tx]},
		{"RowsThatNoStepAsksForAreRefused", madeUpRows[Tx]},
		{"TheRulesOfOtherMachinesStay", otherRulesStay[Tx]},
	}
}

// personCannot types what people type into databases.
func personCannot[Tx any](s *stage[Tx]) {
	id := s.paid()
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
		err := s.Store.InTx(s.ctx, func(tx Tx) error { return s.Exec(s.ctx, tx, statement) })
		if err == nil {
			s.Errorf("%s: nobody refused %s", name, statement)
		}
	}
	s.in("deal", id, "FUNDED", 5)
	// What the machine can, they can: the refusals above are no accident.
	const told = `INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, created_at)
		SELECT deal_id, deal_id, version, last_event, status, status, 'refund_extra', 'system', updated_at FROM deals`
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error {
		return errors.Join(s.Exec(s.ctx, tx, "UPDATE deals SET "+step+"'DEPOSIT_CONFIRMED'"), s.Exec(s.ctx, tx, told))
	}))
}

// madeUpRows saves what no step of a record leaves behind.
func madeUpRows[Tx any](s *stage[Tx]) {
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	h := head[Tx]{machine: s.deals, id: id, version: 1}
	later := h
	later.version++
	elsewhere := head[Tx]{machine: s.deals, id: s.id(), version: 1}
	for name, make := range map[string]func(c *store.Commit){
		"a message that the step does not ask for": func(c *store.Commit) { c.Outbox = []store.OutboxMessage{s.message(h, 0, "owner_notifications")} },
		"a message of a step to come":              func(c *store.Commit) { c.Outbox = []store.OutboxMessage{s.message(later, 0, "owner_notifications")} },
		"a message of no record": func(c *store.Commit) {
			c.Outbox = []store.OutboxMessage{s.message(elsewhere, 0, "owner_notifications")}
		},
		"a deadline that the state does not set": func(c *store.Commit) { c.SetDeadlines = []store.Deadline{s.deadline(h, epoch)} },
		"a deadline of no record":                func(c *store.Commit) { c.SetDeadlines = []store.Deadline{s.deadline(elsewhere, epoch)} },
		"a key of a step to come":                func(c *store.Commit) { c.IdempotencyKeys = []store.IdempotencyKey{key(h, "one")} },
		"a key of an event that did not lead there": func(c *store.Commit) {
			c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "one", RecordID: id, Event: "CANCEL", Version: 1, CreatedAt: epoch}}
		},
		"a key of a step that was taken at no such time": func(c *store.Commit) {
			c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "one", RecordID: id, Event: "CREATE", Version: 1, CreatedAt: epoch.Add(time.Second)}}
		},
	} {
		c := s.about(h)
		make(&c)
		if err := s.save(c); !errors.Is(err, store.ErrRefused) || !strings.Contains(err.Error(), "fsmgen: fsm_") {
			s.Errorf("%s: the error is %v", name, err)
		}
	}
}

// otherRulesStay has a process migrate that knows one machine only: the rows of the
// others are still taken, and judged.
func otherRulesStay[Tx any](s *stage[Tx]) {
	s.must(s.Reopen(s.T).Migrate(s.ctx, []store.Machine{s.deals}))
	w := s.walClaimed()
	s.offered()
	h := head[Tx]{machine: s.wals, id: w, version: 2}
	c := s.about(h)
	c.Outbox = []store.OutboxMessage{s.message(h, 0, "owner_notifications")}
	s.wants(s.save(c), store.ErrRefused)
}

func correlation[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"OneIDFromTheCallToTheLastConsequence", correlationEndToEnd[Tx]},
	}
}

// correlationEndToEnd starts a download with an id and finds it in the
// histories of all three machines of the chain, and in every call.
func correlationEndToEnd[Tx any](s *stage[Tx]) {
	const id = "c-42"
	s.script.answers("check_exists", download.Checked{})
	s.script.answers("download_object", download.Downloaded{LocalPath: "/x", Checksum: "c", SizeBytes: 3})
	s.script.answers("validate_file", valid)
	s.script.answers("check_unpacked", unpackHandoff)
	_, err := s.engine.Create(s.ctx, "download", s.id(), download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, engine.Call{Correlation: id})
	s.must(err)
	s.steps()
	for _, table := range []string{"download_history", "unpack_history", "activate_history"} {
		all := s.Count(s.T, table)
		if all == 0 {
			s.Errorf("%s is empty", table)
		}
		s.counts(fmt.Sprintf("%s WHERE correlation_id = '%s'", table, id), all)
	}
	for _, d := range s.script.calls {
		if d.Correlation != id {
			s.Errorf("%s was called for %q", d.Effect, d.Correlation)
		}
	}
}
