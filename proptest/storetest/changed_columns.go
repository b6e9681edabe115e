package storetest

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// changes are cases about the columns that a step writes.
func changes[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"OnlyChangedColumnsAreWritten", onlyChanged[Tx]},
		{"WithoutBeforeEveryColumnIsWritten", withoutBefore[Tx]},
		{"EachStepOfAChainWritesItsOwn", chainWritesItsOwn[Tx]},
		{"ManyRecordsAtOnceWriteTheirOwn", manyWriteTheirOwn[Tx]},
		{"AValueThatGoesAwayIsNull", valueGoesAway[Tx]},
		{"ListsAreCompared", listsAreCompared[Tx]},
		{"MoreSetsOfColumnsThanStatements", manySets[Tx]},
	}
}

// onlyChanged rewrites a column between the load and the step, without a new version. The
// step does not change that column, so the column keeps its value.
func onlyChanged[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	c, h := f.commit(h, deal.MutualCancel{}, Owner, StartTime)
	f.ExecUnchecked(f.T, "deals", "UPDATE deals SET price_nano = 77, deposit_tx = 'by hand' WHERE deal_id = '"+h.id+"'")
	f.Must(f.Save(c))
	r := *h.record.(*deal.Record)
	r.PriceNano, r.DepositTx = 77, fsm.Some("by hand")
	h.record = &r
	f.wantStored(h)
	if !r.OwnerCancels {
		f.Fatal("the step changes nothing")
	}
}

// withoutBefore saves a step without StepWrite.Before. Every column is written. The
// database refuses the step if a column was changed by hand in the meantime.
func withoutBefore[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	c, _ := f.commit(h, deal.MutualCancel{}, Owner, StartTime)
	c.Steps[0].Before = nil
	f.ExecUnchecked(f.T, "deals", "UPDATE deals SET price_nano = 77 WHERE deal_id = '"+h.id+"'")
	err := f.Save(c)
	f.WantError(err, store.ErrRefused)
	if !strings.Contains(err.Error(), "price_nano is not written by") {
		f.Fatalf("the error is %v", err)
	}
	f.ExecUnchecked(f.T, "deals", "UPDATE deals SET price_nano = 100 WHERE deal_id = '"+h.id+"'")
	c, h = f.commit(h, deal.MutualCancel{}, Owner, StartTime)
	c.Steps[0].Before = nil
	f.Must(f.Save(c))
	f.wantStored(h)
}

// chainWritesItsOwn saves two steps of one event. The first step is compared with the
// loaded record, the second with the first.
func chainWritesItsOwn[Tx any](f *Fixture[Tx]) {
	h := f.downloaded("img")
	before := h.record
	c, h := f.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), StartTime)
	for i, want := range []fsm.Record{before, c.Steps[0].Record} {
		if s := c.Steps[i]; Text(s.Before) != Text(want) || !slices.Contains(s.Changed(s.Record.Values()), 1) {
			f.Fatalf("step %d comes from %s and changes %v", i, Text(s.Before), s.Changed(s.Record.Values()))
		}
	}
	f.ExecUnchecked(f.T, "download_records", "UPDATE download_records SET s3_key = 'by hand'")
	f.Must(f.Save(c))
	r := *h.record.(*download.Record)
	r.S3Key = "by hand"
	h.record = &r
	f.wantStored(h)
	if n := len(f.history(h)); int64(n) != h.version {
		f.Fatalf("the history has %d rows, want %d", n, h.version)
	}
}

// manyWriteTheirOwn saves steps of many records at once. The steps change different
// columns, and some change only the version.
func manyWriteTheirOwn[Tx any](f *Fixture[Tx]) {
	var commits []store.Commit
	var heads []Versioned
	for i := range 12 {
		h := f.funded()
		event, by := fsm.Payload(deal.MutualCancel{}), Owner
		switch i % 3 {
		case 1:
			by = Advertiser
		case 2: // a second deposit goes back and changes nothing
			event, by = deal.DepositConfirmed{TxHash: "again-" + h.id, AmountNano: 5}, fsm.System()
		}
		c, h := f.commit(h, event, by, StartTime)
		commits, heads = append(commits, c), append(heads, h)
	}
	f.Must(f.Save(commits...))
	for _, h := range heads {
		f.wantStored(h)
	}
}

// invalid is an answer that sets values which a retry clears.
var invalid = registration.ValidationFailed{
	ValidationResult: registration.ValidationOutcomeFailed, ValidationError: "x", ValidationErrorType: registration.ValidationErrorTypeInvalid,
}

// valueGoesAway clears a value of a record. Its column becomes null.
func valueGoesAway[Tx any](f *Fixture[Tx]) {
	h := f.saveEvent(f.Registered("n"), invalid, fsm.System())
	f.wantStored(h)
	f.WantCount("registration_records WHERE validation_error = 'x'", 1)
	c, h := f.commit(h, registration.Retry{}, External, StartTime)
	f.Must(f.Save(c))
	f.wantStored(h)
	f.WantCount("registration_records WHERE validation_error IS NULL AND validation_error_type IS NULL", 1)
}

// listsAreCompared saves a step that changes a list and then one that does not, for
// several records at once.
func listsAreCompared[Tx any](f *Fixture[Tx]) {
	var commits []store.Commit
	var heads []Versioned
	for i := range 6 {
		h := f.saveEvent(f.new(f.Registrations), registration.Create{NodeID: fmt.Sprintf("n%d", i)}, External)
		c, h := f.commit(h, Register, External, StartTime)
		commits, heads = append(commits, c), append(heads, h)
	}
	f.Must(f.Save(commits...))
	commits = nil
	for i, h := range heads {
		f.wantStored(h)
		c, h := f.commit(h, invalid, fsm.System(), StartTime)
		commits, heads[i] = append(commits, c), h
	}
	f.Must(f.Save(commits...))
	for _, h := range heads {
		f.wantStored(h)
	}
}

// manySets writes every subset of five columns with up to three messages. These are more
// statements than a store should keep.
func manySets[Tx any](f *Fixture[Tx]) {
	h := f.saveEvent(f.Registered("n"), invalid, fsm.System())
	now := registration.CorrectPayload{
		DeploymentID: Register.DeploymentID, Environment: Register.Environment, NetworkID: Register.NetworkID,
		ConsulServiceID: Register.ConsulServiceID, ConsulServiceName: Register.ConsulServiceName, ConsulTags: Register.ConsulTags,
		ConsulHealthCheck: Register.ConsulHealthCheck, PostgresRecord: Register.PostgresRecord,
	}
	for set := range 4 << 5 {
		other := fsm.Some(fmt.Sprint(set))
		for bit, field := range []*fsm.Optional[string]{&now.DeploymentID, &now.Environment, &now.NetworkID, &now.ConsulServiceID, &now.ConsulServiceName} {
			if set&(1<<bit) != 0 {
				*field = other
			}
		}
		c, next := f.commit(h, now, External, StartTime)
		for seq := range set >> 5 {
			c.Outbox = append(c.Outbox, f.Message(next, seq, "kafka"))
		}
		f.Must(f.Save(c))
		h = next
	}
	f.wantStored(h)
	f.WantCount("fsm_outbox", (1+2+3)<<5)
}
