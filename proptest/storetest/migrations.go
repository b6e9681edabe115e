package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func migrations[Tx any]() []test[Tx] {
	return []test[Tx]{
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

func migrateTwice[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.send(h, b.message(h, 1, "kafka"))
	b.must(b.Store.Migrate(b.ctx, store.Machines(b.machines())))
	b.must(b.Reopen(b.T).Migrate(b.ctx, store.Machines(b.machines())))
	b.stands(h)
	b.counts("fsm_outbox", 1)
	b.counts("fsm_schema", b.Version)
}

func migrateAtOnce[Tx any](b *bench[Tx]) {
	b.must(b.MigrateTo(b.ctx, 0))
	stores := []store.Store[Tx]{b.Store, b.Reopen(b.T), b.Reopen(b.T)}
	errs := make(chan error)
	for _, s := range stores {
		go func() { errs <- s.Migrate(b.ctx, store.Machines(b.machines())) }()
	}
	for range stores {
		b.must(<-errs)
	}
	b.stands(b.deal())
}

// upDownUp takes the engine's tables away and brings them back: the machines'
// own tables stay.
func upDownUp[Tx any](b *bench[Tx]) {
	h := b.deal()
	for version := b.Version; version >= 0; version-- {
		b.must(b.MigrateTo(b.ctx, version))
		b.counts("fsm_schema", version)
	}
	for version := range b.Version + 1 {
		b.must(b.MigrateTo(b.ctx, version))
		b.counts("fsm_schema", version)
	}
	b.must(b.Store.Migrate(b.ctx, store.Machines(b.machines())))
	b.stands(h)
	h = b.fire(h, deal.SubmitOffer{}, advertiser)
	b.Unjudged(b.T)
	b.send(h, b.message(h, 1, "kafka"))
	if tasks := b.claims(901, epoch); len(tasks) != 1 {
		b.Fatalf("claimed %s", text(tasks))
	}
}

func downSchema[Tx any](b *bench[Tx]) {
	b.must(b.MigrateTo(b.ctx, b.Version-1))
	b.wantsSchema(b.Version - 1)
}

func newerSchema[Tx any](b *bench[Tx]) {
	b.must(b.Store.InTx(b.ctx, func(tx Tx) error {
		return b.Exec(b.ctx, tx, fmt.Sprintf("INSERT INTO fsm_schema (version) VALUES (%d)", b.Version+1))
	}))
	b.wantsSchema(b.Version + 1)
	e := as[*store.SchemaError](b, b.Reopen(b.T).Migrate(b.ctx, store.Machines(b.machines())))
	if e.Found != b.Version+1 {
		b.Fatalf("the error says %+v", e)
	}
}

// wantsSchema fails the test unless a store that is opened now refuses to work,
// because the schema is at version found.
func (b *bench[Tx]) wantsSchema(found int) {
	b.Helper()
	s := b.Reopen(b.T)
	_, claim := s.Claim(b.ctx, b.claim(901, epoch))
	_, read := s.Read(b.ctx, store.Read{Kind: store.ReadDeadLetters, Limit: 1})
	for _, err := range []error{claim, read, s.InTx(b.ctx, func(Tx) error { return nil })} {
		if e := as[*store.SchemaError](b, err); e.Found != found || e.Known != b.Version {
			b.Fatalf("the error says %+v, want found %d", e, found)
		}
	}
}

// changes runs a statement on the schema. Where the dialects differ, it is the first of
// these that the database takes.
func (b *bench[Tx]) changes(statements ...string) {
	b.Helper()
	var err error
	for _, statement := range statements {
		if err = b.Store.InTx(b.ctx, func(tx Tx) error { return b.Exec(b.ctx, tx, statement) }); err == nil {
			return
		}
	}
	b.Fatal(err)
}

// drifts migrates, and wants this of a machine and nothing else to differ.
func (b *bench[Tx]) drifts(machine, want string) {
	b.Helper()
	err := b.Store.Migrate(b.ctx, store.Machines(b.machines()))
	e := as[*store.DriftError](b, err)
	b.wants(err, store.ErrDrift)
	if len(e.Machines) != 1 {
		b.Fatalf("the error says %v", err)
	}
	d := e.Machines[0]
	if d.Machine != machine || d.Deployed != d.Version || d.Later() || !slices.Equal(d.Differences, []string{want}) {
		b.Fatalf("the error says %v, want %s", err, want)
	}
}

func triggerGone[Tx any](b *bench[Tx]) {
	b.changes("DROP TRIGGER deal_delete ON deals", "DROP TRIGGER deal_delete")
	for range 2 { // Migrate mends nothing
		b.drifts("deal", "trigger deal_delete of deals is not there")
	}
}

func indexGone[Tx any](b *bench[Tx]) {
	b.changes("DROP INDEX registration_one_live_registration")
	err := b.Store.Migrate(b.ctx, store.Machines(b.machines()))
	if e := as[*store.DriftError](b, err); len(e.Machines) != 1 || !strings.Contains(err.Error(), "machine registration, version 1.0.0: index registration_one_live_registration") {
		b.Fatalf("the error says %v", err)
	}
}

// driftAndMore has a trigger gone where the engine's tables are of an older version:
// they are brought up all the same.
func driftAndMore[Tx any](b *bench[Tx]) {
	b.changes("DROP TRIGGER deal_delete ON deals", "DROP TRIGGER deal_delete")
	b.must(b.MigrateTo(b.ctx, b.Version-1))
	b.drifts("deal", "trigger deal_delete of deals is not there")
	b.counts("fsm_schema", b.Version)
	b.stands(b.deal())
}
