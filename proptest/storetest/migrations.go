package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func migrations[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"TwiceIsANoOp", migrateTwice[Tx]},
		{"SeveralProcessesAtOnce", migrateAtOnce[Tx]},
		{"UpDownUp", upDownUp[Tx]},
		{"MessagesOutliveEveryVersion", messagesOutliveVersions[Tx]},
		{"ADownSchemaIsAClearError", downSchema[Tx]},
		{"ANewerSchemaIsAClearError", newerSchema[Tx]},
		{"ATriggerThatIsGoneIsDrift", triggerGone[Tx]},
		{"AnIndexThatIsGoneIsDrift", indexGone[Tx]},
		{"DriftKeepsNothingElseFromBeingDone", driftAndMore[Tx]},
	}
}

func migrateTwice[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.send(h, f.Message(h, 1, "kafka"))
	f.Must(f.Store.Migrate(f.Context(), store.Machines(f.machines())))
	f.Must(f.Reopen(f.T).Migrate(f.Context(), store.Machines(f.machines())))
	f.wantStored(h)
	f.WantCount("fsm_outbox", 1)
	f.WantCount("fsm_schema", f.Version)
}

func migrateAtOnce[Tx any](f *Fixture[Tx]) {
	f.Must(f.MigrateTo(f.Context(), 0))
	stores := []store.Store[Tx]{f.Store, f.Reopen(f.T), f.Reopen(f.T)}
	errs := make(chan error)
	for _, s := range stores {
		go func() { errs <- s.Migrate(f.Context(), store.Machines(f.machines())) }()
	}
	for range stores {
		f.Must(<-errs)
	}
	f.wantStored(f.deal())
}

// upDownUp removes the engine's tables and creates them again. The machines' own tables
// stay.
func upDownUp[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	for version := f.Version; version >= 0; version-- {
		f.Must(f.MigrateTo(f.Context(), version))
		f.WantCount("fsm_schema", version)
	}
	for version := range f.Version + 1 {
		f.Must(f.MigrateTo(f.Context(), version))
		f.WantCount("fsm_schema", version)
	}
	f.Must(f.Store.Migrate(f.Context(), store.Machines(f.machines())))
	f.wantStored(h)
	h = f.saveEvent(h, deal.SubmitOffer{}, Advertiser)
	f.AllowAnyRows(f.T)
	f.send(h, f.Message(h, 1, "kafka"))
	if tasks := f.claimAll(901, StartTime); len(tasks) != 1 {
		f.Fatalf("claimed %s", Text(tasks))
	}
}

// messagesOutliveVersions takes a database with leased, parked and dead messages to each
// earlier version of the engine's tables and back. No message is lost, and each still waits for
// the messages before it.
func messagesOutliveVersions[Tx any](f *Fixture[Tx]) {
	_, first, second, third := f.queued(f.Message)
	h := f.deal()
	dead, behind := f.deadLetter(h, 1, "kafka"), f.Message(h, 2, "kafka")
	f.send(h, behind)
	other := f.deal()
	pending := f.Message(other, 1, "kafka")
	pending.AvailableAt = fsm.Some(StartTime.Add(time.Second))
	f.send(other, pending)
	const parked = 3
	f.wantClaimed(f.Claim(903, StartTime))
	f.wantParked(parked)
	for version := f.Version - 1; version > 0; version-- {
		f.Must(f.MigrateTo(f.Context(), version))
		f.Must(f.Store.Migrate(f.Context(), store.Machines(f.machines())))
		f.AllowAnyRows(f.T)
		if version == f.Version-1 {
			f.wantParked(parked) // earlier versions have no parked messages: the next claim parks them
		}
		f.wantClaimed(f.Claim(904, StartTime))
		f.wantParked(parked)
	}
	f.Must(f.settle(byOperator(dead, store.MessageState{State: "dead_letter", Attempts: dead.Attempts, DiscardedAt: fsm.Some(StartTime), LastError: dead.LastError, Resolution: "ann: gone"})))
	f.wantClaimed(f.Claim(905, StartTime), behind)
	f.Must(f.settle(delivered(first, StartTime)))
	next := f.wantClaimed(f.Claim(906, StartTime), second)[0]
	f.Must(f.settle(delivered(next, StartTime)))
	f.wantClaimed(f.Claim(907, StartTime.Add(time.Second)), third, pending)
	f.wantParked(0)
}

func downSchema[Tx any](f *Fixture[Tx]) {
	f.Must(f.MigrateTo(f.Context(), f.Version-1))
	f.wantSchemaError(f.Version - 1)
}

func newerSchema[Tx any](f *Fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		return f.Exec(f.Context(), tx, fmt.Sprintf("INSERT INTO fsm_schema (version) VALUES (%d)", f.Version+1))
	}))
	f.wantSchemaError(f.Version + 1)
	e := As[*store.SchemaError](f, f.Reopen(f.T).Migrate(f.Context(), store.Machines(f.machines())))
	if e.Found != f.Version+1 {
		f.Fatalf("the error says %+v", e)
	}
}

// wantSchemaError fails the test unless a newly opened store refuses to work because the
// schema has version found.
func (f *Fixture[Tx]) wantSchemaError(found int) {
	f.Helper()
	s := f.Reopen(f.T)
	_, claim := s.Claim(f.Context(), f.Claim(901, StartTime))
	_, read := s.Read(f.Context(), store.Read{Kind: store.ReadDeadLetters, Limit: 1})
	for _, err := range []error{claim, read, s.InTx(f.Context(), func(Tx) error { return nil })} {
		if e := As[*store.SchemaError](f, err); e.Found != found || e.Known != f.Version {
			f.Fatalf("the error says %+v, want found %d", e, found)
		}
	}
}

// execFirst runs the first of the statements that the database accepts. The dialects of
// the databases differ.
func (f *Fixture[Tx]) execFirst(statements ...string) {
	f.Helper()
	var err error
	for _, statement := range statements {
		if err = f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, statement) }); err == nil {
			return
		}
	}
	f.Fatal(err)
}

// wantDrift migrates, and fails the test unless this is the only difference of the
// machine.
func (f *Fixture[Tx]) wantDrift(machine, want string) {
	f.Helper()
	err := f.Store.Migrate(f.Context(), store.Machines(f.machines()))
	e := As[*store.DriftError](f, err)
	f.WantError(err, store.ErrDrift)
	if len(e.Machines) != 1 {
		f.Fatalf("the error says %v", err)
	}
	d := e.Machines[0]
	if d.Machine != machine || d.Deployed != d.Version || d.Later() || !slices.Equal(d.Differences, []string{want}) {
		f.Fatalf("the error says %v, want %s", err, want)
	}
}

func triggerGone[Tx any](f *Fixture[Tx]) {
	f.execFirst("DROP TRIGGER deal_delete ON deals", "DROP TRIGGER deal_delete")
	for range 2 { // Migrate repairs nothing
		f.wantDrift("deal", "trigger deal_delete of deals is not there")
	}
}

func indexGone[Tx any](f *Fixture[Tx]) {
	f.execFirst("DROP INDEX registration_one_live_registration")
	err := f.Store.Migrate(f.Context(), store.Machines(f.machines()))
	if e := As[*store.DriftError](f, err); len(e.Machines) != 1 || !strings.Contains(err.Error(), "machine registration, version 1.0.0: index registration_one_live_registration") {
		f.Fatalf("the error says %v", err)
	}
}

// driftAndMore drops a trigger and downgrades the engine's tables. Migrate still upgrades
// the tables.
func driftAndMore[Tx any](f *Fixture[Tx]) {
	f.execFirst("DROP TRIGGER deal_delete ON deals", "DROP TRIGGER deal_delete")
	f.Must(f.MigrateTo(f.Context(), f.Version-1))
	f.wantDrift("deal", "trigger deal_delete of deals is not there")
	f.WantCount("fsm_schema", f.Version)
	f.wantStored(f.deal())
}
