package storetest

import (
	"strings"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func refusing[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"CreatingTwiceIsExists", creatingTwice[Tx]},
		{"AUniqueConstraintIsNamed", uniqueConstraint[Tx]},
		{"AUniqueIndexIsNamed", uniqueIndex[Tx]},
		{"WhatTheTableRefusesIsRefused", edgeIsRefused[Tx]},
		{"ABrokenBoundIsRefused", boundIsRefused[Tx]},
		{"AStepThatNoRowMakesIsRefused", stepIsRefused[Tx]},
		{"ARewrittenImmutableFieldIsRefused", immutableIsRefused[Tx]},
		{"AWrongHistoryIsRefused", wrongHistory[Tx]},
		{"AMissingReferenceIsRefused", missingReference[Tx]},
		{"WhatIsReferredToStays", referredStays[Tx]},
		{"AnUnknownOutboxStateIsRefused", unknownOutboxState[Tx]},
		{"ATypeThatDoesNotFitIsRefused", wrongType[Tx]},
		{"AWriteThatNoTableHasIsRefused", noTableWrite[Tx]},
		{"TheFirstCommitThatFailsIsReported", firstIsReported[Tx]},
		{"ARefusedSaveLeavesNothing", refusedLeavesNothing[Tx]},
	}
}

func creatingTwice[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	again, _ := f.commit(Versioned{machine: f.Deals, id: h.id}, deal.Create{OwnerID: 9, PriceNano: 5}, Advertiser, StartTime)
	err := f.Save(again)
	f.WantError(err, store.ErrExists)
	if e := As[*store.ExistsError](f, err); e.Machine != "deal" || e.ID != h.id {
		f.Fatalf("the error says %+v", e)
	}
	f.wantStored(h)
}

func uniqueConstraint[Tx any](f *Fixture[Tx]) {
	accepted := func() Versioned {
		h := f.saveEvent(f.deal(), deal.SubmitOffer{}, Advertiser)
		return f.saveEvent(h, deal.Accept{}, Owner)
	}
	f.saveEvent(accepted(), deal.AddressReady{DepositAddress: "same"}, fsm.System())
	h := accepted()
	c, _ := f.commit(h, deal.AddressReady{DepositAddress: "same"}, fsm.System(), StartTime)
	err := f.Save(c)
	f.WantError(err, store.ErrExists)
	if e := As[*store.UniqueError](f, err); e.Constraint != "deal_one_deal_an_address" || e.Machine != "deal" || e.ID != h.id {
		f.Fatalf("the error says %+v", e)
	}
	f.wantStored(h)
}

func uniqueIndex[Tx any](f *Fixture[Tx]) {
	start := unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}
	first := f.saveEvent(f.new(f.Unpacks), start, fsm.System())
	second, _ := f.commit(f.new(f.Unpacks), start, fsm.System(), StartTime)
	err := f.Save(second)
	if e := As[*store.UniqueError](f, err); e.Constraint != "unpack_active_image" {
		f.Fatalf("the error says %+v", e)
	}
	f.saveEvent(first, unpack.CheckFailed{Cause: "x"}, fsm.System())
	f.Must(f.Save(second)) // only one that has not ended
}

// edgeIsRefused saves a step that the machine does not have.
func edgeIsRefused[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	c, _ := f.commit(h, deal.SubmitDraft{Creative: "{}"}, Owner, StartTime)
	r := *c.Steps[0].Record.(*deal.Record)
	r.State, r.Escrow = deal.CompletedReleased, deal.EscrowReleased
	c.Steps[0].Record, c.Steps[0].To = &r, r.StateName()
	f.wantRefused(h, c, "edge")
}

// boundIsRefused saves a value that the event may carry and no record may have.
func boundIsRefused[Tx any](f *Fixture[Tx]) {
	h := f.saveEvent(f.deal(), deal.SubmitOffer{}, Advertiser)
	c, _ := f.commit(h, deal.CounterOffer{PriceNano: 90}, Owner, StartTime)
	r := *c.Steps[0].Record.(*deal.Record)
	r.PriceNano = 0
	c.Steps[0].Record = &r
	f.wantRefused(h, c, "deal_price_nano_range")
}

// stepIsRefused saves a value that no transition of the step writes.
func stepIsRefused[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	c, _ := f.commit(h, deal.SubmitDraft{Creative: "{}"}, Owner, StartTime)
	r := *c.Steps[0].Record.(*deal.Record)
	r.PriceNano = 1
	c.Steps[0].Record = &r
	f.wantRefused(h, c, "price_nano is not written by")
}

func immutableIsRefused[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	r := *c.Steps[0].Record.(*deal.Record)
	r.OwnerID = 99
	c.Steps[0].Record = &r
	f.wantRefused(h, c, "owner_id is written once")
}

func wrongHistory[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.Steps[0].To = "CANCELLED"
	f.wantRefused(h, c, "history")
}

// deviceColumns are the columns of unpacked_images without its key.
func deviceColumns() []fsm.Column {
	return []fsm.Column{
		{Name: "device_id", Value: "12345678"}, {Name: "device_name", Value: "thin-12345678"},
		{Name: "checksum", Value: "c"}, {Name: "download_run", Value: fsm.UUID{1}.String()},
	}
}

// missingReference inserts a row that refers to a row that does not exist.
func missingReference[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	c.Writes = []fsm.TableWrite{{
		Table: "unpacked_images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "nowhere"}},
		Columns: deviceColumns(),
	}}
	f.wantRefused(h, c, "")
}

// referredStays deletes a row that another refers to.
func referredStays[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	image := []fsm.Column{{Name: "image_id", Value: "img"}}
	c.Writes = []fsm.TableWrite{
		{Table: "images", Op: fsm.EffectUpsert, Key: image, Columns: []fsm.Column{{Name: "bucket", Value: "b"}, {Name: "s3_key", Value: "k"}, {Name: "download_status", Value: "completed"}}},
		{Table: "unpacked_images", Op: fsm.EffectUpsert, Key: image, Columns: deviceColumns()},
	}
	f.Must(f.Save(c))
	c.Writes = []fsm.TableWrite{{Table: "images", Op: fsm.EffectDelete, Key: image}}
	f.wantRefused(h, c, "")
	f.WantImages("img", "completed", 1)
}

// firstIsReported saves two commits, as an event does that starts another record. One
// writes a row with a missing reference, the other creates a record that exists.
func firstIsReported[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	writes := f.EmptyCommit(f.deal())
	writes.Writes = []fsm.TableWrite{{
		Table: "unpacked_images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "nowhere"}},
		Columns: deviceColumns(),
	}}
	again, _ := f.commit(Versioned{machine: f.Deals, id: h.id}, deal.Create{OwnerID: 9, PriceNano: 5}, Advertiser, StartTime)
	if e := As[*store.RefusedError](f, f.Save(writes, again)); e.ID != writes.ID {
		f.Errorf("the error is %v, want one about %s", e, writes.ID)
	}
	if e := As[*store.ExistsError](f, f.Save(again, writes)); e.ID != h.id {
		f.Errorf("the error is %v, want one about %s", e, h.id)
	}
	f.wantStored(h)
}

func unknownOutboxState[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	c.Outbox = []store.OutboxMessage{f.Message(h, 0, "kafka")}
	c.Outbox[0].State = "lost"
	f.wantRefused(h, c, "fsm_outbox")
}

// wrongType stores text as a number of bytes.
func wrongType[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	c.Writes = []fsm.TableWrite{{
		Table: "images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "img"}},
		Columns: []fsm.Column{{Name: "bucket", Value: "b"}, {Name: "s3_key", Value: "k"}, {Name: "download_status", Value: "completed"}, {Name: "size_bytes", Value: "seven"}},
	}}
	f.wantRefused(h, c, "")
	f.WantImages("img", "completed", 0)
}

// noTableWrite asks for a write of a table that is none.
func noTableWrite[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	for _, op := range []fsm.EffectKind{fsm.EffectCall, fsm.EffectLog, fsm.EffectMetric, fsm.EffectStart, "merge"} {
		c := f.EmptyCommit(h)
		c.Writes = []fsm.TableWrite{{
			Table: "images", Op: op, Key: []fsm.Column{{Name: "image_id", Value: "img"}},
			Columns: []fsm.Column{{Name: "bucket", Value: "b"}, {Name: "s3_key", Value: "k"}, {Name: "download_status", Value: "completed"}},
		}}
		f.wantRefused(h, c, string(op))
	}
	f.WantImages("img", "completed", 0)
}

// wantRefused fails the test unless the commit is refused for a reason that contains why
// and the record is unchanged.
func (f *Fixture[Tx]) wantRefused(h Versioned, c store.Commit, why string) {
	f.Helper()
	err := f.Save(c)
	f.WantError(err, store.ErrRefused)
	if e := As[*store.RefusedError](f, err); e.Machine != h.machine.Name() || e.ID != h.id || !strings.Contains(e.Error(), why) {
		f.Fatalf("the error is %v, want one about %s", e, why)
	}
	f.wantStored(h)
}

// refusedLeavesNothing has the second of two commits refused. The first is rolled back
// too.
func refusedLeavesNothing[Tx any](f *Fixture[Tx]) {
	good, other := f.deal(), f.downloaded("img")
	first, _ := f.commit(good, deal.SubmitOffer{}, Advertiser, StartTime)
	first.Outbox = []store.OutboxMessage{f.Message(good, 0, "kafka")}
	first.SetDeadlines = []store.Deadline{f.Deadline(good, StartTime)}
	first.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "k", RecordID: good.id, Event: "SUBMIT_OFFER", Version: 2, CreatedAt: StartTime}}
	second, _ := f.commit(other, download.Validated{}, fsm.System(), StartTime)
	second.Steps[0].From = "download"
	f.WantError(f.Save(first, second), store.ErrConflict)
	f.wantStored(good)
	f.wantStored(other)
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		f.WantCount(table, 0)
	}
	if n := len(f.history(good)); n != 1 {
		f.Fatalf("the history has %d rows", n)
	}
}
