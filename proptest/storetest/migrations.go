package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func migrations[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"TwiceIsANoOp", migrateTwice[Tx]},
		{"SeveralProcessesAtOnce", migrateAtOnce[Tx]},
		{"UpDownUp", upDownUp[Tx]},
		{"ADownSchemaIsAClearError", downSchema[Tx]},
		{"ANewerSchemaIsAClearError", newerSchema[Tx]},
		{"ATriggerThatIsGoneIsDrift", triggerGone[Tx]},
		{"AnIndexThatIsGoneIsDrift", indexGone[Tx]},
		{"DriftKeepsNothingElseFromBeingDone", driftAndMore[Tx]},
	}
}

func migrateTwice[Tx any](f *fixture[Tx]) {
	h := f.deal()
	f.send(h, f.message(h, 1, "kafka"))
	f.must(f.Store.Migrate(f.ctx, store.Machines(f.machines())))
	f.must(f.Reopen(f.T).Migrate(f.ctx, store.Machines(f.machines())))
	f.wantStored(h)
	f.wantCount("fsm_outbox", 1)
	f.wantCount("fsm_schema", f.Version)
}

func migrateAtOnce[Tx any](f *fixture[Tx]) {
	f.must(f.MigrateTo(f.ctx, 0))
	stores := []store.Store[Tx]{f.Store, f.Reopen(f.T), f.Reopen(f.T)}
	errs := make(chan error)
	for _, s := range stores {
		go func() { errs <- s.Migrate(f.ctx, store.Machines(f.machines())) }()
	}
	for range stores {
		f.must(<-errs)
	}
	f.wantStored(f.deal())
}

// upDownUp removes the engine's tables and creates them again. The machines' own tables
// stay.
func upDownUp[Tx any](f *fixture[Tx]) {
	h := f.deal()
	for version := f.Version; version >= 0; version-- {
		f.must(f.MigrateTo(f.ctx, version))
		f.wantCount("fsm_schema", version)
	}
	for version := range f.Version + 1 {
		f.must(f.MigrateTo(f.ctx, version))
		f.wantCount("fsm_schema", version)
	}
	f.must(f.Store.Migrate(f.ctx, store.Machines(f.machines())))
	f.wantStored(h)
	h = f.saveEvent(h, deal.SubmitOffer{}, advertiser)
	f.AllowAnyRows(f.T)
	f.send(h, f.message(h, 1, "kafka"))
	if tasks := f.claimAll(901, startTime); len(tasks) != 1 {
		f.Fatalf("claimed %s", text(tasks))
	}
}

func downSchema[Tx any](f *fixture[Tx]) {
	f.must(f.MigrateTo(f.ctx, f.Version-1))
	f.wantSchemaError(f.Version - 1)
}

func newerSchema[Tx any](f *fixture[Tx]) {
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error {
		return f.Exec(f.ctx, tx, fmt.Sprintf("INSERT INTO fsm_schema (version) VALUES (%d)", f.Version+1))
	}))
	f.wantSchemaError(f.Version + 1)
	e := as[*store.SchemaError](f, f.Reopen(f.T).Migrate(f.ctx, store.Machines(f.machines())))
	if e.Found != f.Version+1 {
		f.Fatalf("the error says %+v", e)
	}
}

// wantSchemaError fails the test unless a newly opened store refuses to work because the
// schema has version found.
func (f *fixture[Tx]) wantSchemaError(found int) {
	f.Helper()
	s := f.Reopen(f.T)
	_, claim := s.Claim(f.ctx, f.claim(901, startTime))
	_, read := s.Read(f.ctx, store.Read{Kind: store.ReadDeadLetters, Limit: 1})
	for _, err := range []error{claim, read, s.InTx(f.ctx, func(Tx) error { return nil })} {
		if e := as[*store.SchemaError](f, err); e.Found != found || e.Known != f.Version {
			f.Fatalf("the error says %+v, want found %d", e, found)
		}
	}
}

// execFirst runs the first of the statements that the database accepts. The dialects of
// the databases differ.
func (f *fixture[Tx]) execFirst(statements ...string) {
	f.Helper()
	var err error
	for _, statement := range statements {
		if err = f.Store.InTx(f.ctx, func(tx Tx) error { return f.Exec(f.ctx, tx, statement) }); err == nil {
			return
		}
	}
	f.Fatal(err)
}

// wantDrift migrates, and fails the test unless this is the only difference of the
// machine.
func (f *fixture[Tx]) wantDrift(machine, want string) {
	f.Helper()
	err := f.Store.Migrate(f.ctx, store.Machines(f.machines()))
	e := as[*store.DriftError](f, err)
	f.wantError(err, store.ErrDrift)
	if len(e.Machines) != 1 {
		f.Fatalf("the error says %v", err)
	}
	d := e.Machines[0]
	if d.Machine != machine || d.Deployed != d.Version || d.Later() || !slices.Equal(d.Differences, []string{want}) {
		f.Fatalf("the error says %v, want %s", err, want)
	}
}

func triggerGone[Tx any](f *fixture[Tx]) {
	f.execFirst("DROP TRIGGER deal_delete ON deals", "DROP TRIGGER deal_delete")
	for range 2 { // Migrate repairs nothing
		f.wantDrift("deal", "trigger deal_delete of deals is not there")
	}
}

func indexGone[Tx any](f *fixture[Tx]) {
	f.execFirst("DROP INDEX registration_one_live_registration")
	err := f.Store.Migrate(f.ctx, store.Machines(f.machines()))
	if e := as[*store.DriftError](f, err); len(e.Machines) != 1 || !strings.Contains(err.Error(), "machine registration, version 1.0.0: index registration_one_live_registration") {
		f.Fatalf("the error says %v", err)
	}
}

// driftAndMore drops a trigger and downgrades the engine's tables. Migrate still upgrades
// the tables.
func driftAndMore[Tx any](f *fixture[Tx]) {
	f.execFirst("DROP TRIGGER deal_delete ON deals", "DROP TRIGGER deal_delete")
	f.must(f.MigrateTo(f.ctx, f.Version-1))
	f.wantDrift("deal", "trigger deal_delete of deals is not there")
	f.wantCount("fsm_schema", f.Version)
	f.wantStored(f.deal())
}
