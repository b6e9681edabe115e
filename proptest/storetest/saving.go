package storetest

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func saving[Tx any]() []test[Tx] {
	return []test[Tx]{
		{"WhatIsSavedIsLoaded", savedIsLoaded[Tx]},
		{"EveryKindOfFieldComesBack", fieldsComeBack[Tx]},
		{"AnAbsentRecordIsNoError", absentRecord[Tx]},
		{"StaleVersionIsAConflictThatSaysWhatIsThere", staleVersion[Tx]},
		{"StaleStateIsAConflict", staleState[Tx]},
		{"TheVersionCountsNotOnlyTheState", versionCounts[Tx]},
		{"MovingNothingIsAConflict", movingNothing[Tx]},
		{"HistoryIsGapless", historyIsGapless[Tx]},
		{"AChainIsSeveralSteps", chainIsSeveralSteps[Tx]},
		{"EnteredAtIsTheEntryNotTheLastStep", enteredAt[Tx]},
		{"TheRowSaysWhenItWasWritten", rowSaysWhen[Tx]},
		{"ExpectHoldsTheVersion", expectHolds[Tx]},
		{"TableRowsAreWritten", tableRows[Tx]},
	}
}

func savedIsLoaded[Tx any](b *bench[Tx]) {
	h := b.deal()
	b.stands(h)
	h = b.fire(h, deal.SubmitOffer{}, advertiser)
	b.stands(h)
	if h.version != 2 || h.record.StateName() != "OFFER_PENDING" {
		b.Fatalf("it is at version %d in %s", h.version, h.record.StateName())
	}
}

// fieldsComeBack saves times, lists, JSON, enums, bools and absent values.
func fieldsComeBack[Tx any](b *bench[Tx]) {
	h := b.registered("n1")
	b.stands(h)
	w := b.walRecord("s3://a")
	b.stands(w)
	w = b.fire(w, wal.Claim{}, fsm.Caller{Role: "worker"})
	b.stands(w)
}

func absentRecord[Tx any](b *bench[Tx]) {
	row := b.load(b.new(b.deals), store.Query{})
	if row.Record != nil || row.Version != 0 || row.Err != nil {
		b.Fatalf("it found %+v", row)
	}
}

func staleVersion[Tx any](b *bench[Tx]) {
	h := b.deal()
	first, moved := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	second, _ := b.commit(h, deal.Cancel{}, advertiser, epoch)
	b.must(b.save(first))
	err := b.save(second)
	b.wants(err, store.ErrConflict)
	c := as[*store.ConflictError](b, err)
	if c.Machine != "deal" || c.ID != h.id || c.Expected != 1 || c.Version != 2 || c.State != "OFFER_PENDING" {
		b.Fatalf("the conflict says %+v", c)
	}
	b.stands(moved)
	if n := len(b.history(h)); n != 2 {
		b.Fatalf("the history has %d rows", n)
	}
}

// staleState saves a step whose version is right and whose state is not.
func staleState[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.Steps[0].From = "NEGOTIATING"
	b.wants(b.save(c), store.ErrConflict)
	b.stands(h)
}

// versionCounts has two writers build on one version with steps that stay in
// the state: the state alone would let both through.
func versionCounts[Tx any](b *bench[Tx]) {
	h := b.funded()
	first, moved := b.commit(h, deal.MutualCancel{}, owner, epoch)
	second, _ := b.commit(h, deal.MutualCancel{}, advertiser, epoch)
	b.must(b.save(first))
	conflict := as[*store.ConflictError](b, b.save(second))
	if conflict.Expected != 5 || conflict.Version != 6 || conflict.State != "FUNDED" {
		b.Fatalf("the conflict says %+v", conflict)
	}
	b.stands(moved)
}

func movingNothing[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	other := b.about(b.new(b.deals))
	c.ID, c.IDValue = other.ID, other.IDValue
	conflict := as[*store.ConflictError](b, b.save(c))
	if conflict.Version != 0 {
		b.Fatalf("the conflict says %+v", conflict)
	}
}

func historyIsGapless[Tx any](b *bench[Tx]) {
	h := b.deal()
	h = b.fire(h, deal.SubmitOffer{}, advertiser)
	c, h := b.commit(h, deal.CounterOffer{PriceNano: 120}, owner, epoch.Add(time.Second))
	b.must(b.save(c))
	rows := b.history(h)
	if len(rows) != 3 {
		b.Fatalf("the history has %d rows", len(rows))
	}
	for i, row := range rows {
		if row.Version != int64(i+1) {
			b.Errorf("row %d has version %d", i, row.Version)
		}
		if i > 0 && row.From != rows[i-1].To {
			b.Errorf("version %d leaves %s, version %d entered %s", row.Version, row.From, row.Version-1, rows[i-1].To)
		}
	}
	if rows[0].From != "" || rows[0].By != advertiser {
		b.Errorf("it begins from %q by %+v", rows[0].From, rows[0].By)
	}
	want := c.Steps[0].HistoryRow
	got := rows[2]
	if text(got.Payload) != text(want.Payload) || !got.At.Equal(want.At) || got.EventID != want.EventID ||
		got.Transition != want.Transition || got.Event != want.Event || got.By != want.By || got.Correlation != want.Correlation {
		b.Errorf("the last row is %s\nwant %s", text(got), text(want))
	}
}

// chainIsSeveralSteps saves an event that raises another: both edges are told.
func chainIsSeveralSteps[Tx any](b *bench[Tx]) {
	h := b.downloaded("img")
	c, h := b.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), epoch)
	if len(c.Steps) != 2 {
		b.Fatalf("the event makes %d steps", len(c.Steps))
	}
	b.must(b.save(c))
	b.stands(h)
	rows := b.history(h)
	if last := rows[len(rows)-1]; int64(len(rows)) != h.version || last.From != "store-metadata" || last.To != "COMPLETE" {
		b.Fatalf("%d rows up to version %d, the last %s", len(rows), h.version, text(last))
	}
}

func enteredAt[Tx any](b *bench[Tx]) {
	h := b.funded()
	later := epoch.Add(time.Hour)
	c, h := b.commit(h, deal.MutualCancel{}, owner, later)
	if c.Steps[0].Entered {
		b.Fatal("a consent leaves the state")
	}
	b.must(b.save(c))
	if row := b.load(h, store.Query{}); !row.EnteredAt.Equal(epoch) {
		b.Fatalf("entered at %s, want %s", row.EnteredAt, epoch)
	}
	c, h = b.commit(h, deal.SubmitDraft{Creative: `{"text":"x"}`}, owner, later)
	b.must(b.save(c))
	if row := b.load(h, store.Query{}); !row.EnteredAt.Equal(later) {
		b.Fatalf("entered at %s, want %s", row.EnteredAt, later)
	}
}

func rowSaysWhen[Tx any](b *bench[Tx]) {
	h := b.deal()
	later := epoch.Add(time.Hour)
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, later)
	b.must(b.save(c))
	b.counts(fmt.Sprintf("deals WHERE created_at = '%s' AND updated_at = '%s' AND last_event = 'SUBMIT_OFFER'",
		epoch.Format(fsm.TimeLayout), later.Format(fsm.TimeLayout)), 1)
}

func expectHolds[Tx any](b *bench[Tx]) {
	h := b.deal()
	c := b.about(h)
	c.Expect, c.SetDeadlines = 1, []store.Deadline{b.deadline(h, epoch)}
	b.must(b.save(c))
	c.Expect = 2
	conflict := as[*store.ConflictError](b, b.save(c))
	if conflict.Version != 1 || conflict.State != "DRAFT" {
		b.Fatalf("the conflict says %+v", conflict)
	}
	missing := b.about(b.new(b.deals))
	missing.Expect = 1
	b.wants(b.save(missing), store.ErrConflict)
}

// tableRows upserts, updates and deletes rows beside the record's own.
func tableRows[Tx any](b *bench[Tx]) {
	h := b.downloaded("img")
	write := func(op fsm.EffectKind, columns ...fsm.Column) {
		b.Helper()
		c := b.about(h)
		c.Writes = []fsm.TableWrite{{Table: "images", Op: op, Key: []fsm.Column{{Name: "image_id", Value: "img"}}, Columns: columns}}
		b.must(b.save(c))
	}
	bucket, key := fsm.Column{Name: "bucket", Value: "b"}, fsm.Column{Name: "s3_key", Value: "k"}
	write(fsm.EffectUpsert, bucket, key, fsm.Column{Name: "download_status", Value: "pending"}, fsm.Column{Name: "size_bytes", Value: int64(3)})
	write(fsm.EffectUpsert, bucket, key, fsm.Column{Name: "download_status", Value: "completed"}, fsm.Column{Name: "downloaded_at", Value: epoch})
	b.image("img", "completed", 1)
	b.image("img", "pending", 0)
	write(fsm.EffectUpdate, fsm.Column{Name: "download_status", Value: "failed"}, fsm.Column{Name: "size_bytes", Value: nil})
	b.image("img", "failed", 1)
	write(fsm.EffectDelete)
	b.image("img", "failed", 0)
}
