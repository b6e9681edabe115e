package storetest

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// schemas are about databases of another version than the program.
func schemas[Tx any]() []scene[Tx] {
	return []scene[Tx]{
		{"AnOlderSchemaIsRefusedUntilMigrate", olderSchema[Tx]},
		{"ANewerSchemaIsRefused", newerSchemaRefused[Tx]},
		{"ATableOfAnOlderSpecNamesItsColumns", olderSpec[Tx]},
		{"WorkOfAnUnknownStateIsLeft", workOfAnUnknownState[Tx]},
		{"ARowOfAnotherStateIsRefused", anotherState[Tx]},
		{"AnAnswerThatMeetsAnUnknownStateTellsNoFailure", answerToAnUnknownState[Tx]},
	}
}

// living makes a deal that waits for an effect and a deadline, with a key.
func (s *stage[Tx]) living() string {
	s.Helper()
	id := s.create("deal", deal.Create{OwnerID: 8, PriceNano: 100}, advertiser)
	_, err := s.engine.Fire(s.ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "offer"})
	s.must(err)
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		if s.Count(s.T, table) == 0 {
			s.Fatalf("%s is empty", table)
		}
	}
	return id
}

// inventory counts what a database holds.
func (s *stage[Tx]) inventory() (list []string) {
	for _, from := range []string{
		"deals WHERE version = 1", "deals WHERE version = 2", "deals", "deal_events", "fsm_outbox", "fsm_outbox WHERE state = 'pending'",
		"fsm_deadlines", "fsm_keys", "fsm_schema",
	} {
		list = append(list, fmt.Sprintf("%d %s", s.Count(s.T, from), from))
	}
	return list
}

// calls is everything that an engine can be asked for about one deal. FireTx
// joins a transaction of a store.
func (s *stage[Tx]) calls(e *engine.Engine[Tx], of store.Store[Tx], id string) map[string]func() error {
	const message = "00000000-0000-4000-8000-000000000009"
	by := engine.Call{By: advertiser}
	return map[string]func() error{
		"Create": func() error {
			_, err := e.Create(s.ctx, "deal", s.id(), deal.Create{OwnerID: 8, PriceNano: 1}, by)
			return err
		},
		"Fire": func() error { _, err := e.Fire(s.ctx, "deal", id, deal.Withdraw{}, by); return err },
		"Fire with a key": func() error {
			_, err := e.Fire(s.ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "offer"})
			return err
		},
		"FireTx": func() error {
			return of.InTx(s.ctx, func(tx Tx) error { _, err := e.FireTx(s.ctx, tx, "deal", id, deal.Withdraw{}, by); return err })
		},
		"FireBatch": func() error {
			outcomes, err := e.FireBatch(s.ctx, []engine.Firing{{Machine: "deal", ID: id, Event: deal.Withdraw{}, Call: by}})
			s.must(err)
			return outcomes[0].Err
		},
		"Get":         func() error { _, err := e.Get(s.ctx, "deal", id); return err },
		"History":     func() error { _, err := e.History(s.ctx, "deal", id, 0, 10); return err },
		"List":        func() error { _, err := e.List(s.ctx, "deal", "", "", 10); return err },
		"DeadLetters": func() error { _, err := e.DeadLetters(s.ctx, store.Filter{}, "", 10); return err },
		"Requeue":     func() error { return e.Requeue(s.ctx, message, "me", "why") },
		"Discard":     func() error { return e.Discard(s.ctx, message, "me", "why") },
		"Cancel":      func() error { return e.Cancel(s.ctx, message, "me", "why") },
		"Resume":      func() error { _, err := e.Resume(s.ctx, "deal", id, "me", "why"); return err },
		"Pause":       func() error { return e.Pause(s.ctx, store.Scope{Machine: "deal"}, "me", "why") },
		"Unpause":     func() error { return e.Unpause(s.ctx, store.Scope{Machine: "deal"}, "me", "why") },
		"Pauses":      func() error { _, err := e.Pauses(s.ctx); return err },
		"Step":        func() error { _, err := e.Step(s.ctx); return err },
	}
}

// refusesAll has each call of an engine refused by a process that starts while
// the engine's tables are at version found, and nothing changed by it. seen is a
// store that saw them before.
func (s *stage[Tx]) refusesAll(id string, seen store.Store[Tx], found int, advice string) {
	s.Helper()
	before := s.inventory()
	for name := range s.calls(s.engine, seen, id) {
		err := s.calls(s.open(s.Reopen(s.T), s.config), seen, id)[name]()
		var e *store.SchemaError
		if !errors.As(err, &e) || e.Found != found || e.Known != s.Version || !strings.Contains(e.Error(), advice) {
			s.Errorf("%s: the error is %v, want one about the versions %d and %d that says: %s", name, err, found, s.Version, advice)
		}
	}
	if after := s.inventory(); text(after) != text(before) {
		s.Errorf("there is now %v, and was %v", after, before)
	}
}

// seen is a store that has found the engine's tables as they should be.
func (s *stage[Tx]) seen() store.Store[Tx] {
	s.Helper()
	db := s.Reopen(s.T)
	s.must(db.InTx(s.ctx, func(Tx) error { return nil }))
	return db
}

// olderSchema meets a database that an older program has left, with a record at
// work in it. After Migrate everything goes on.
func olderSchema[Tx any](s *stage[Tx]) {
	id, seen := s.living(), s.seen()
	s.must(s.MigrateTo(s.ctx, s.Version-1))
	s.refusesAll(id, seen, s.Version-1, "run Migrate")
	s.restart()
	s.must(s.engine.Migrate(s.ctx))
	s.in("deal", id, "OFFER_PENDING", 2)
	again, err := s.engine.Fire(s.ctx, "deal", id, deal.SubmitOffer{}, engine.Call{By: advertiser, IdempotencyKey: "offer"})
	if s.must(err); !again.Replayed {
		s.Errorf("the key is forgotten: %+v", again)
	}
	s.steps()
	s.only("notify_owner", 1)
	s.tick(1000 * time.Hour)
	s.steps()
	s.in("deal", id, "EXPIRED", 3)
}

// newerSchemaRefused meets a database that a newer program has migrated.
func newerSchemaRefused[Tx any](s *stage[Tx]) {
	id, seen := s.living(), s.seen()
	s.must(s.Store.InTx(s.ctx, func(tx Tx) error {
		return s.Exec(s.ctx, tx, fmt.Sprintf("INSERT INTO fsm_schema (version) VALUES (%d)", s.Version+1))
	}))
	s.refusesAll(id, seen, s.Version+1, "update this one")
	if e := as[*store.SchemaError](s, s.open(s.Reopen(s.T), s.config).Migrate(s.ctx)); e.Found != s.Version+1 {
		s.Errorf("Migrate: the error is %v", e)
	}
}

// olderSpec meets a record table that lacks a column of the machine. Other
// machines go on, and so does this one once the column is there.
func olderSpec[Tx any](s *stage[Tx]) {
	id, seen := s.living(), s.seen()
	rename := func(from, to string) {
		s.Helper()
		s.must(s.Store.InTx(s.ctx, func(tx Tx) error {
			return s.Exec(s.ctx, tx, "ALTER TABLE deals RENAME COLUMN "+from+" TO "+to)
		}))
	}
	rename("publish_at", "posted_at")
	before := s.inventory()
	e := s.open(s.Reopen(s.T), s.config)
	calls := s.calls(e, seen, id)
	calls["Migrate"] = func() error { return e.Migrate(s.ctx) }
	for _, name := range []string{"Migrate", "Create", "Fire", "Fire with a key", "FireTx", "FireBatch", "Get", "List"} {
		err := calls[name]()
		var misfit *store.TableError
		if !errors.As(err, &misfit) || misfit.Machine != "deal" || misfit.Table != "deals" || text(misfit.Missing) != `["publish_at"]` {
			s.Errorf("%s: the error is %v, want one about deals and its column publish_at", name, err)
		}
	}
	if after := s.inventory(); text(after) != text(before) {
		s.Errorf("there is now %v, and was %v", after, before)
	}
	s.create("download", download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, fsm.System())
	rename("posted_at", "publish_at")
	s.restart()
	s.in("deal", id, "OFFER_PENDING", 2)
	s.accepts("deal", id, deal.Withdraw{}, advertiser)
}
