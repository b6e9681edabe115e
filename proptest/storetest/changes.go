package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// changes are about what of a record a step writes.
func changes[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"OnlyChangedColumnsAreWritten", onlyChanged[Tx]},
		{"WithoutBeforeEveryColumnIsWritten", withoutBefore[Tx]},
		{"EachStepOfAChainWritesItsOwn", chainWritesItsOwn[Tx]},
		{"ManyRecordsAtOnceWriteTheirOwn", manyWriteTheirOwn[Tx]},
		{"AValueThatGoesAwayIsNull", valueGoesAway[Tx]},
		{"ListsAreCompared", listsAreCompared[Tx]},
		{"MoreSetsOfColumnsThanStatements", manySets[Tx]},
	}
}

// onlyChanged rewrites a column between the reading and the step, behind the
// back of the version. The step does not change it, so it stays.
func onlyChanged[Tx any](b *bench[Tx]) {
	h := b.funded()
	c, h := b.commit(h, deal.MutualCancel{}, owner, epoch)
	b.Vandalise(b.T, "deals", "UPDATE deals SET price_nano = 77, deposit_tx = 'by hand' WHERE deal_id = '"+h.id+"'")
	b.must(b.save(c))
	r := *h.record.(*deal.Record)
	r.PriceNano, r.DepositTx = 77, fsm.Some("by hand")
	h.record = &r
	b.stands(h)
	if !r.OwnerCancels {
		b.Fatal("the step changes nothing")
	}
}

// withoutBefore saves a step that does not say what was there: every column is
// written, and one that was changed by hand in the meantime is more than the step
// writes.
func withoutBefore[Tx any](b *bench[Tx]) {
	h := b.funded()
	c, _ := b.commit(h, deal.MutualCancel{}, owner, epoch)
	c.Steps[0].Before = nil
	b.Vandalise(b.T, "deals", "UPDATE deals SET price_nano = 77 WHERE deal_id = '"+h.id+"'")
	err := b.save(c)
	b.wants(err, store.ErrRefused)
	if !strings.Contains(err.Error(), "price_nano is not written by") {
		b.Fatalf("the error is %v", err)
	}
	b.Vandalise(b.T, "deals", "UPDATE deals SET price_nano = 100 WHERE deal_id = '"+h.id+"'")
	c, h = b.commit(h, deal.MutualCancel{}, owner, epoch)
	c.Steps[0].Before = nil
	b.must(b.save(c))
	b.stands(h)
}

// chainWritesItsOwn saves two steps of one event. The first of them is compared
// with what was read, the second with the first.
func chainWritesItsOwn[Tx any](b *bench[Tx]) {
	h := b.downloaded("img")
	before := h.record
	c, h := b.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), epoch)
	for i, want := range []fsm.Record{before, c.Steps[0].Record} {
		if s := c.Steps[i]; text(s.Before) != text(want) || !slices.Contains(s.Changed(s.Record.Values()), 1) {
			b.Fatalf("step %d comes from %s and changes %v", i, text(s.Before), s.Changed(s.Record.Values()))
		}
	}
	b.Vandalise(b.T, "download_records", "UPDATE download_records SET s3_key = 'by hand'")
	b.must(b.save(c))
	r := *h.record.(*download.Record)
	r.S3Key = "by hand"
	h.record = &r
	b.stands(h)
	if n := len(b.history(h)); int64(n) != h.version {
		b.Fatalf("the history has %d rows, want %d", n, h.version)
	}
}

// manyWriteTheirOwn saves steps of many records at once, which change different
// columns, some of them none but the version.
func manyWriteTheirOwn[Tx any](b *bench[Tx]) {
	var commits []store.Commit
	var heads []head[Tx]
	for i := range 12 {
		h := b.funded()
		event, by := fsm.Payload(deal.MutualCancel{}), owner
		switch i % 3 {
		case 1:
			by = advertiser
		case 2: // a second deposit goes back and changes nothing
			event, by = deal.DepositConfirmed{TxHash: "again-" + h.id, AmountNano: 5}, fsm.System()
		}
		c, h := b.commit(h, event, by, epoch)
		commits, heads = append(commits, c), append(heads, h)
	}
	b.must(b.save(commits...))
	for _, h := range heads {
		b.stands(h)
	}
}

// invalid is an answer that leaves values behind, which a retry takes away.
var invalid = registration.ValidationFailed{
	ValidationResult: registration.ValidationOutcomeFailed, ValidationError: "x", ValidationErrorType: registration.ValidationErrorTypeInvalid,
}

// valueGoesAway takes a value out of a record: its column becomes null.
func valueGoesAway[Tx any](b *bench[Tx]) {
	h := b.fire(b.registered("n"), invalid, fsm.System())
	b.stands(h)
	b.counts("registration_records WHERE validation_error = 'x'", 1)
	c, h := b.commit(h, registration.Retry{}, external, epoch)
	b.must(b.save(c))
	b.stands(h)
	b.counts("registration_records WHERE validation_error IS NULL AND validation_error_type IS NULL", 1)
}

// listsAreCompared saves steps of which one changes a list and the next does not,
// each of several records at once.
func listsAreCompared[Tx any](b *bench[Tx]) {
	var commits []store.Commit
	var heads []head[Tx]
	for i := range 6 {
		h := b.fire(b.new(b.registrations), registration.Create{NodeID: fmt.Sprintf("n%d", i)}, external)
		c, h := b.commit(h, register, external, epoch)
		commits, heads = append(commits, c), append(heads, h)
	}
	b.must(b.save(commits...))
	commits = nil
	for i, h := range heads {
		b.stands(h)
		c, h := b.commit(h, invalid, fsm.System(), epoch)
		commits, heads[i] = append(commits, c), h
	}
	b.must(b.save(commits...))
	for _, h := range heads {
		b.stands(h)
	}
}

// manySets writes every subset of five columns, with up to three messages: more
// than a store should keep statements for.
func manySets[Tx any](b *bench[Tx]) {
	h := b.fire(b.registered("n"), invalid, fsm.System())
	now := registration.CorrectPayload{
		DeploymentID: register.DeploymentID, Environment: register.Environment, NetworkID: register.NetworkID,
		ConsulServiceID: register.ConsulServiceID, ConsulServiceName: register.ConsulServiceName, ConsulTags: register.ConsulTags,
		ConsulHealthCheck: register.ConsulHealthCheck, PostgresRecord: register.PostgresRecord,
	}
	for set := range 4 << 5 {
		other := fsm.Some(fmt.Sprint(set))
		for bit, field := range []*fsm.Optional[string]{&now.DeploymentID, &now.Environment, &now.NetworkID, &now.ConsulServiceID, &now.ConsulServiceName} {
			if set&(1<<bit) != 0 {
				*field = other
			}
		}
		c, next := b.commit(h, now, external, epoch)
		for seq := range set >> 5 {
			c.Outbox = append(c.Outbox, b.message(next, seq, "kafka"))
		}
		b.must(b.save(c))
		h = next
	}
	b.stands(h)
	b.counts("fsm_outbox", (1+2+3)<<5)
}
