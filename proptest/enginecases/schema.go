package enginecases

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/proptest/storetest"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// schemas are cases of databases of another version than the program.
func schemas[Tx any]() []testCase[Tx] {
	return []testCase[Tx]{
		{"AnOlderSchemaIsRefusedUntilMigrate", olderSchema[Tx]},
		{"ANewerSchemaIsRefused", newerSchemaRefused[Tx]},
		{"ATableOfAnOlderSpecNamesItsColumns", olderSpec[Tx]},
		{"WorkOfAnUnknownStateIsLeft", workOfAnUnknownState[Tx]},
		{"ARowOfAnotherStateIsRefused", anotherState[Tx]},
		{"AnAnswerThatMeetsAnUnknownStateTellsNoFailure", answerToAnUnknownState[Tx]},
	}
}

// activeDeal creates a deal with a pending effect, a deadline and a key.
func (f *fixture[Tx]) activeDeal() string {
	f.Helper()
	id := f.mustCreate("deal", deal.Create{OwnerID: 8, PriceNano: 100}, storetest.Advertiser)
	_, err := f.engine.Fire(f.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser, IdempotencyKey: "offer"})
	f.Must(err)
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		if f.Count(f.T, table) == 0 {
			f.Fatalf("%s is empty", table)
		}
	}
	return id
}

// rowCounts lists the tables with their numbers of rows.
func (f *fixture[Tx]) rowCounts() (list []string) {
	for _, from := range []string{
		"deals WHERE version = 1", "deals WHERE version = 2", "deals", "deal_events", "fsm_outbox", "fsm_outbox WHERE state = 'pending'",
		"fsm_deadlines", "fsm_keys", "fsm_schema",
	} {
		list = append(list, fmt.Sprintf("%d %s", f.Count(f.T, from), from))
	}
	return list
}

// allCalls returns every call of the engine about one deal. FireTx joins a transaction of
// the store of.
func (f *fixture[Tx]) allCalls(e *engine.Engine[Tx], of store.Store[Tx], id string) map[string]func() error {
	const message = "00000000-0000-4000-8000-000000000009"
	by := engine.Call{By: storetest.Advertiser}
	return map[string]func() error{
		"Create": func() error {
			_, err := e.Create(f.Context(), "deal", f.NewID(), deal.Create{OwnerID: 8, PriceNano: 1}, by)
			return err
		},
		"Fire": func() error { _, err := e.Fire(f.Context(), "deal", id, deal.Withdraw{}, by); return err },
		"Fire with a key": func() error {
			_, err := e.Fire(f.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser, IdempotencyKey: "offer"})
			return err
		},
		"FireTx": func() error {
			return of.InTx(f.Context(), func(tx Tx) error { _, err := e.FireTx(f.Context(), tx, "deal", id, deal.Withdraw{}, by); return err })
		},
		"FireBatch": func() error {
			outcomes, err := e.FireBatch(f.Context(), []engine.Firing{{Machine: "deal", ID: id, Event: deal.Withdraw{}, Call: by}})
			f.Must(err)
			return outcomes[0].Err
		},
		"Get":         func() error { _, err := e.Get(f.Context(), "deal", id); return err },
		"History":     func() error { _, err := e.History(f.Context(), "deal", id, 0, 10); return err },
		"List":        func() error { _, err := e.List(f.Context(), "deal", "", "", 10); return err },
		"DeadLetters": func() error { _, err := e.DeadLetters(f.Context(), store.Filter{}, "", 10); return err },
		"Requeue":     func() error { return e.Requeue(f.Context(), message, "me", "why") },
		"Discard":     func() error { return e.Discard(f.Context(), message, "me", "why") },
		"Cancel":      func() error { return e.Cancel(f.Context(), message, "me", "why") },
		"Resume":      func() error { _, err := e.Resume(f.Context(), "deal", id, "me", "why"); return err },
		"Pause":       func() error { return e.Pause(f.Context(), store.Scope{Machine: "deal"}, "me", "why") },
		"Unpause":     func() error { return e.Unpause(f.Context(), store.Scope{Machine: "deal"}, "me", "why") },
		"Pauses":      func() error { _, err := e.Pauses(f.Context()); return err },
		"Step":        func() error { _, err := e.Step(f.Context()); return err },
	}
}

// wantAllRefused fails the test unless each call of a newly opened engine is refused
// because the engine's tables have version found, and changes nothing. seen is a store
// that has used the tables before.
func (f *fixture[Tx]) wantAllRefused(id string, seen store.Store[Tx], found int, advice string) {
	f.Helper()
	before := f.rowCounts()
	for name := range f.allCalls(f.engine, seen, id) {
		err := f.allCalls(f.newEngine(f.Reopen(f.T), f.config), seen, id)[name]()
		var e *store.SchemaError
		if !errors.As(err, &e) || e.Found != found || e.Known != f.Version || !strings.Contains(e.Error(), advice) {
			f.Errorf("%s: the error is %v, want one about the versions %d and %d that says: %s", name, err, found, f.Version, advice)
		}
	}
	if after := f.rowCounts(); storetest.Text(after) != storetest.Text(before) {
		f.Errorf("there is now %v, and was %v", after, before)
	}
}

// checkedStore returns a store that has already checked the version of the engine's
// tables.
func (f *fixture[Tx]) checkedStore() store.Store[Tx] {
	f.Helper()
	db := f.Reopen(f.T)
	f.Must(db.InTx(f.Context(), func(Tx) error { return nil }))
	return db
}

// olderSchema opens a database of an older program that has an active record. After
// Migrate the record goes on.
func olderSchema[Tx any](f *fixture[Tx]) {
	id, seen := f.activeDeal(), f.checkedStore()
	f.Must(f.MigrateTo(f.Context(), f.Version-1))
	f.wantAllRefused(id, seen, f.Version-1, "run Migrate")
	f.restart()
	f.Must(f.engine.Migrate(f.Context()))
	f.wantState("deal", id, "OFFER_PENDING", 2)
	again, err := f.engine.Fire(f.Context(), "deal", id, deal.SubmitOffer{}, engine.Call{By: storetest.Advertiser, IdempotencyKey: "offer"})
	if f.Must(err); !again.Replayed {
		f.Errorf("the key is forgotten: %+v", again)
	}
	f.stepAll()
	f.wantCalls("notify_owner", 1)
	f.advance(1000 * time.Hour)
	f.stepAll()
	f.wantState("deal", id, "EXPIRED", 3)
}

// newerSchemaRefused opens a database that a newer program has migrated.
func newerSchemaRefused[Tx any](f *fixture[Tx]) {
	id, seen := f.activeDeal(), f.checkedStore()
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		return f.Exec(f.Context(), tx, fmt.Sprintf("INSERT INTO fsm_schema (version) VALUES (%d)", f.Version+1))
	}))
	f.wantAllRefused(id, seen, f.Version+1, "update this one")
	if e := storetest.As[*store.SchemaError](f, f.newEngine(f.Reopen(f.T), f.config).Migrate(f.Context())); e.Found != f.Version+1 {
		f.Errorf("Migrate: the error is %v", e)
	}
}

// olderSpec opens a database whose record table lacks a column of the machine. Other
// machines go on, and so does this one once the column is there.
func olderSpec[Tx any](f *fixture[Tx]) {
	id, seen := f.activeDeal(), f.checkedStore()
	rename := func(from, to string) {
		f.Helper()
		f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
			return f.Exec(f.Context(), tx, "ALTER TABLE deals RENAME COLUMN "+from+" TO "+to)
		}))
	}
	rename("publish_at", "posted_at")
	before := f.rowCounts()
	e := f.newEngine(f.Reopen(f.T), f.config)
	calls := f.allCalls(e, seen, id)
	calls["Migrate"] = func() error { return e.Migrate(f.Context()) }
	for _, name := range []string{"Migrate", "Create", "Fire", "Fire with a key", "FireTx", "FireBatch", "Get", "List"} {
		err := calls[name]()
		var misfit *store.TableError
		if !errors.As(err, &misfit) || misfit.Machine != "deal" || misfit.Table != "deals" || storetest.Text(misfit.Missing) != `["publish_at"]` {
			f.Errorf("%s: the error is %v, want one about deals and its column publish_at", name, err)
		}
	}
	if after := f.rowCounts(); storetest.Text(after) != storetest.Text(before) {
		f.Errorf("there is now %v, and was %v", after, before)
	}
	f.mustCreate("download", download.Start{ImageID: "img", S3Key: "k", Bucket: "b"}, fsm.System())
	rename("posted_at", "publish_at")
	f.restart()
	f.wantState("deal", id, "OFFER_PENDING", 2)
	f.mustFire("deal", id, deal.Withdraw{}, storetest.Advertiser)
}
