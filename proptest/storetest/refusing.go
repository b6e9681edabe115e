package storetest

import (
	"strings"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func refusing[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"CreatingTwiceIsExists", creatingTwice[Tx]},
		{"AUniqueConstraintIsNamed", uniqueConstraint[Tx]},
		{"AUniqueIndexIsNamed", uniqueIndex[Tx]},
		{"WhatTheTableRefusesIsRefused", edgeIsRefused[Tx]},
		{"ABrokenBoundIsRefused", boundIsRefused[Tx]},
		{"AStepThatNoRowMakesIsRefused", stepIsRefused[Tx]},
		{"ARewrittenImmutableFieldIsRefused", immutableIsRefused[Tx]},
		{"AHistoryThatLiesIsRefused", lyingHistory[Tx]},
		{"AMissingReferenceIsRefused", missingReference[Tx]},
		{"WhatIsReferredToStays", referredStays[Tx]},
		{"AnUnknownOutboxStateIsRefused", unknownOutboxState[Tx]},
		{"ATypeThatDoesNotFitIsRefused", wrongType[Tx]},
		{"TheFirstCommitThatFailsIsTheOneThatIsTold", firstIsTold[Tx]},
		{"ARefusedSaveLeavesNothing", refusedLeavesNothing[Tx]},
	}
}

func creatingTwice[Tx any](b *bench[Tx]) {
	h := b.deal()
	again, _ := b.commit(head[Tx]{machine: b.deals, id: h.id}, deal.Create{OwnerID: 9, PriceNano: 5}, advertiser, epoch)
	err := b.save(again)
	b.wants(err, store.ErrExists)
	if e := as[*store.ExistsError](b, err); e.Machine != "deal" || e.ID != h.id {
		b.Fatalf("the error says %+v", e)
	}
	b.stands(h)
}

func uniqueConstraint[Tx any](b *bench[Tx]) {
	accepted := func() head[Tx] {
		h := b.fire(b.deal(), deal.SubmitOffer{}, advertiser)
		return b.fire(h, deal.Accept{}, owner)
	}
	b.fire(accepted(), deal.AddressReady{DepositAddress: "same"}, fsm.System())
	h := accepted()
	c, _ := b.commit(h, deal.AddressReady{DepositAddress: "same"}, fsm.System(), epoch)
	err := b.save(c)
	b.wants(err, store.ErrExists)
	if e := as[*store.UniqueError](b, err); e.Constraint != "deal_one_deal_an_address" || e.Machine != "deal" || e.ID != h.id {
		b.Fatalf("the error says %+v", e)
	}
	b.stands(h)
}

func uniqueIndex[Tx any](b *bench[Tx]) {
	start := unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}
	first := b.fire(b.new(b.unpacks), start, fsm.System())
	second, _ := b.commit(b.new(b.unpacks), start, fsm.System(), epoch)
	err := b.save(second)
	if e := as[*store.UniqueError](b, err); e.Constraint != "unpack_active_image" {
		b.Fatalf("the error says %+v", e)
	}
	b.fire(first, unpack.CheckFailed{Cause: "x"}, fsm.System())
	b.must(b.save(second)) // only one that has not ended
}

// edgeIsRefused forges a step that the machine does not have.
func edgeIsRefused[Tx any](b *bench[Tx]) {
	h := b.funded()
	c, _ := b.commit(h, deal.SubmitDraft{Creative: "{}"}, owner, epoch)
	r := *c.Steps[0].Record.(*deal.Record)
	r.State, r.Escrow = deal.CompletedReleased, deal.EscrowReleased
	c.Steps[0].Record, c.Steps[0].To = &r, r.StateName()
	b.refuses(h, c, "edge")
}

// boundIsRefused forges a value that the event may bring, and no record may have.
func boundIsRefused[Tx any](b *bench[Tx]) {
	h := b.fire(b.deal(), deal.SubmitOffer{}, advertiser)
	c, _ := b.commit(h, deal.CounterOffer{PriceNano: 90}, owner, epoch)
	r := *c.Steps[0].Record.(*deal.Record)
	r.PriceNano = 0
	c.Steps[0].Record = &r
	b.refuses(h, c, "deal_price_nano_range")
}

// stepIsRefused forges a value that no row of the step writes.
func stepIsRefused[Tx any](b *bench[Tx]) {
	h := b.funded()
	c, _ := b.commit(h, deal.SubmitDraft{Creative: "{}"}, owner, epoch)
	r := *c.Steps[0].Record.(*deal.Record)
	r.PriceNano = 1
	c.Steps[0].Record = &r
	b.refuses(h, c, "price_nano is not written by")
}

func immutableIsRefused[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	r := *c.Steps[0].Record.(*deal.Record)
	r.OwnerID = 99
	c.Steps[0].Record = &r
	b.refuses(h, c, "owner_id is written once")
}

func lyingHistory[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.Steps[0].To = "CANCELLED"
	b.refuses(h, c, "history")
}

// deviceColumns are those of a row of unpacked_images beside its key.
func deviceColumns() []fsm.Column {
	return []fsm.Column{
		{Name: "device_id", Value: "12345678"}, {Name: "device_name", Value: "thin-12345678"},
		{Name: "checksum", Value: "c"}, {Name: "download_run", Value: fsm.UUID{1}.String()},
	}
}

// missingReference inserts a row that refers to one that is not there.
func missingReference[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.Writes = []fsm.TableWrite{{
		Table: "unpacked_images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "nowhere"}},
		Columns: deviceColumns(),
	}}
	b.refuses(h, c, "")
}

// referredStays deletes a row that another refers to.
func referredStays[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	image := []fsm.Column{{Name: "image_id", Value: "img"}}
	c.Writes = []fsm.TableWrite{
		{Table: "images", Op: fsm.EffectUpsert, Key: image, Columns: []fsm.Column{{Name: "bucket", Value: "b"}, {Name: "s3_key", Value: "k"}, {Name: "download_status", Value: "completed"}}},
		{Table: "unpacked_images", Op: fsm.EffectUpsert, Key: image, Columns: deviceColumns()},
	}
	b.must(b.save(c))
	c.Writes = []fsm.TableWrite{{Table: "images", Op: fsm.EffectDelete, Key: image}}
	b.refuses(h, c, "")
	b.image("img", "completed", 1)
}

// firstIsTold saves two commits, as an event does that starts another record: one
// writes a row that refers to nothing, the other creates a record that is there.
func firstIsTold[Tx any](b *bench[Tx]) {
	h := b.deal()
	writes := b.about(b.deal())
	writes.Writes = []fsm.TableWrite{{
		Table: "unpacked_images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "nowhere"}},
		Columns: deviceColumns(),
	}}
	again, _ := b.commit(head[Tx]{machine: b.deals, id: h.id}, deal.Create{OwnerID: 9, PriceNano: 5}, advertiser, epoch)
	if e := as[*store.RefusedError](b, b.save(writes, again)); e.ID != writes.ID {
		b.Errorf("the error is %v, want one about %s", e, writes.ID)
	}
	if e := as[*store.ExistsError](b, b.save(again, writes)); e.ID != h.id {
		b.Errorf("the error is %v, want one about %s", e, h.id)
	}
	b.stands(h)
}

func unknownOutboxState[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.Outbox = []store.OutboxMessage{b.message(h, 0, "kafka")}
	c.Outbox[0].State = "lost"
	b.refuses(h, c, "fsm_outbox")
}

// wrongType stores a text as a number of bytes.
func wrongType[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.Writes = []fsm.TableWrite{{
		Table: "images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "img"}},
		Columns: []fsm.Column{{Name: "bucket", Value: "b"}, {Name: "s3_key", Value: "k"}, {Name: "download_status", Value: "completed"}, {Name: "size_bytes", Value: "seven"}},
	}}
	b.refuses(h, c, "")
	b.image("img", "completed", 0)
}

// refuses fails the test unless the commit is refused for a reason that
// contains why, and the record stays.
func (b *bench[Tx]) refuses(h head[Tx], c store.Commit, why string) {
	b.Helper()
	err := b.save(c)
	b.wants(err, store.ErrRefused)
	if e := as[*store.RefusedError](b, err); e.Machine != h.machine.Name() || e.ID != h.id || !strings.Contains(e.Error(), why) {
		b.Fatalf("the error is %v, want one about %s", e, why)
	}
	b.stands(h)
}

// refusedLeavesNothing has a second commit refused: the first goes with it.
func refusedLeavesNothing[Tx any](b *bench[Tx]) {
	good, other := b.deal(), b.downloaded("img")
	first, _ := b.commit(good, deal.SubmitOffer{}, advertiser, epoch)
	first.Outbox = []store.OutboxMessage{b.message(good, 0, "kafka")}
	first.SetDeadlines = []store.Deadline{b.deadline(good, epoch)}
	first.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "k", RecordID: good.id, Event: "SUBMIT_OFFER", Version: 2, CreatedAt: epoch}}
	second, _ := b.commit(other, download.Validated{}, fsm.System(), epoch)
	second.Steps[0].From = "download"
	b.wants(b.save(first, second), store.ErrConflict)
	b.stands(good)
	b.stands(other)
	for _, table := range []string{"fsm_outbox", "fsm_deadlines", "fsm_keys"} {
		b.counts(table, 0)
	}
	if n := len(b.history(good)); n != 1 {
		b.Fatalf("the history has %d rows", n)
	}
}
