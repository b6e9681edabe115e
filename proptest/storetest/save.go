package storetest

import (
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/wal"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func saving[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"WhatIsSavedIsLoaded", savedIsLoaded[Tx]},
		{"EveryKindOfFieldIsReadBack", fieldsAreReadBack[Tx]},
		{"AnAbsentRecordIsNoError", absentRecord[Tx]},
		{"StaleVersionIsAConflictThatSaysWhatIsThere", staleVersion[Tx]},
		{"StaleStateIsAConflict", staleState[Tx]},
		{"TheVersionCountsNotOnlyTheState", versionCounts[Tx]},
		{"MovingNothingIsAConflict", movingNothing[Tx]},
		{"HistoryIsGapless", historyIsGapless[Tx]},
		{"AForcedStepNamesItsOperator", forcedIsKept[Tx]},
		{"AChainIsSeveralSteps", chainIsSeveralSteps[Tx]},
		{"EnteredAtIsTheEntryNotTheLastStep", enteredAt[Tx]},
		{"TheRowSaysWhenItWasWritten", writeTimeIsLoaded[Tx]},
		{"ExpectHoldsTheVersion", expectHolds[Tx]},
		{"TableRowsAreWritten", tableRows[Tx]},
	}
}

func savedIsLoaded[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.wantStored(h)
	h = f.saveEvent(h, deal.SubmitOffer{}, Advertiser)
	f.wantStored(h)
	if h.version != 2 || h.record.StateName() != "OFFER_PENDING" {
		f.Fatalf("it is at version %d in %s", h.version, h.record.StateName())
	}
}

// fieldsAreReadBack saves times, lists, JSON, enums, bools and absent values.
func fieldsAreReadBack[Tx any](f *Fixture[Tx]) {
	h := f.Registered("n1")
	f.wantStored(h)
	w := f.walRecord("s3://a")
	f.wantStored(w)
	w = f.saveEvent(w, wal.Claim{}, fsm.Caller{Role: "worker"})
	f.wantStored(w)
}

func absentRecord[Tx any](f *Fixture[Tx]) {
	row := f.load(f.new(f.Deals), store.Query{})
	if row.Record != nil || row.Version != 0 || row.Err != nil {
		f.Fatalf("it found %+v", row)
	}
}

func staleVersion[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	first, moved := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	second, _ := f.commit(h, deal.Cancel{}, Advertiser, StartTime)
	f.Must(f.Save(first))
	err := f.Save(second)
	f.WantError(err, store.ErrConflict)
	c := As[*store.ConflictError](f, err)
	if c.Machine != "deal" || c.ID != h.id || c.Expected != 1 || c.Version != 2 || c.State != "OFFER_PENDING" {
		f.Fatalf("the conflict says %+v", c)
	}
	f.wantStored(moved)
	if n := len(f.history(h)); n != 2 {
		f.Fatalf("the history has %d rows", n)
	}
}

// staleState saves a step whose version is right and whose state is not.
func staleState[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.Steps[0].From = "NEGOTIATING"
	f.WantError(f.Save(c), store.ErrConflict)
	f.wantStored(h)
}

// versionCounts has two writers build on one version with steps that stay in the state. A
// check of the state alone would accept both.
func versionCounts[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	first, moved := f.commit(h, deal.MutualCancel{}, Owner, StartTime)
	second, _ := f.commit(h, deal.MutualCancel{}, Advertiser, StartTime)
	f.Must(f.Save(first))
	conflict := As[*store.ConflictError](f, f.Save(second))
	if conflict.Expected != 5 || conflict.Version != 6 || conflict.State != "FUNDED" {
		f.Fatalf("the conflict says %+v", conflict)
	}
	f.wantStored(moved)
}

func movingNothing[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	other := f.EmptyCommit(f.new(f.Deals))
	c.ID, c.IDValue = other.ID, other.IDValue
	conflict := As[*store.ConflictError](f, f.Save(c))
	if conflict.Version != 0 {
		f.Fatalf("the conflict says %+v", conflict)
	}
}

func historyIsGapless[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	h = f.saveEvent(h, deal.SubmitOffer{}, Advertiser)
	c, h := f.commit(h, deal.CounterOffer{PriceNano: 120}, Owner, StartTime.Add(time.Second))
	f.Must(f.Save(c))
	rows := f.history(h)
	if len(rows) != 3 {
		f.Fatalf("the history has %d rows", len(rows))
	}
	for i, row := range rows {
		if row.Version != int64(i+1) {
			f.Errorf("row %d has version %d", i, row.Version)
		}
		if i > 0 && row.From != rows[i-1].To {
			f.Errorf("version %d leaves %s, version %d entered %s", row.Version, row.From, row.Version-1, rows[i-1].To)
		}
	}
	if rows[0].From != "" || rows[0].By != Advertiser {
		f.Errorf("it begins from %q by %+v", rows[0].From, rows[0].By)
	}
	want := c.Steps[0].HistoryRow
	got := rows[2]
	if Text(got.Payload) != Text(want.Payload) || !got.At.Equal(want.At) || got.EventID != want.EventID ||
		got.Transition != want.Transition || got.Event != want.Event || got.By != want.By || got.Correlation != want.Correlation {
		f.Errorf("the last row is %s\nwant %s", Text(got), Text(want))
	}
}

// chainIsSeveralSteps saves an event that raises another. The history has both steps.
func chainIsSeveralSteps[Tx any](f *Fixture[Tx]) {
	h := f.downloaded("img")
	c, h := f.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), StartTime)
	if len(c.Steps) != 2 {
		f.Fatalf("the event makes %d steps", len(c.Steps))
	}
	f.Must(f.Save(c))
	f.wantStored(h)
	rows := f.history(h)
	if last := rows[len(rows)-1]; int64(len(rows)) != h.version || last.From != "store-metadata" || last.To != "COMPLETE" {
		f.Fatalf("%d rows up to version %d, the last %s", len(rows), h.version, Text(last))
	}
}

func enteredAt[Tx any](f *Fixture[Tx]) {
	h := f.funded()
	later := StartTime.Add(time.Hour)
	c, h := f.commit(h, deal.MutualCancel{}, Owner, later)
	if c.Steps[0].Entered {
		f.Fatal("a consent leaves the state")
	}
	f.Must(f.Save(c))
	if row := f.load(h, store.Query{}); !row.EnteredAt.Equal(StartTime) {
		f.Fatalf("entered at %s, want %s", row.EnteredAt, StartTime)
	}
	c, h = f.commit(h, deal.SubmitDraft{Creative: `{"text":"x"}`}, Owner, later)
	f.Must(f.Save(c))
	if row := f.load(h, store.Query{}); !row.EnteredAt.Equal(later) {
		f.Fatalf("entered at %s, want %s", row.EnteredAt, later)
	}
}

func writeTimeIsLoaded[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	later := StartTime.Add(time.Hour)
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, later)
	f.Must(f.Save(c))
	f.WantCount(fmt.Sprintf("deals WHERE created_at = '%s' AND updated_at = '%s' AND last_event = 'SUBMIT_OFFER'",
		StartTime.Format(fsm.TimeLayout), later.Format(fsm.TimeLayout)), 1)
}

// forcedIsKept saves a forced step behind one that was not.
func forcedIsKept[Tx any](f *Fixture[Tx]) {
	c, h := f.commit(f.deal(), deal.SubmitOffer{}, Advertiser, StartTime.Add(time.Second))
	want := store.Forced{Who: "ann", Why: "the bank is away"}
	c.Steps[0].Forced = &want
	f.Must(f.Save(c))
	rows := f.history(h)
	if len(rows) != 2 || rows[0].Forced != nil || rows[1].Forced == nil || *rows[1].Forced != want {
		f.Fatalf("the history is %s", Text(rows))
	}
}

func expectHolds[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c := f.EmptyCommit(h)
	c.Expect, c.SetDeadlines = 1, []store.Deadline{f.Deadline(h, StartTime)}
	f.Must(f.Save(c))
	c.Expect = 2
	conflict := As[*store.ConflictError](f, f.Save(c))
	if conflict.Version != 1 || conflict.State != "DRAFT" {
		f.Fatalf("the conflict says %+v", conflict)
	}
	missing := f.EmptyCommit(f.new(f.Deals))
	missing.Expect = 1
	f.WantError(f.Save(missing), store.ErrConflict)
}

// tableRows upserts, updates and deletes rows of tables of the machine.
func tableRows[Tx any](f *Fixture[Tx]) {
	h := f.downloaded("img")
	write := func(op fsm.EffectKind, columns ...fsm.Column) {
		f.Helper()
		c := f.EmptyCommit(h)
		c.Writes = []fsm.TableWrite{{Table: "images", Op: op, Key: []fsm.Column{{Name: "image_id", Value: "img"}}, Columns: columns}}
		f.Must(f.Save(c))
	}
	bucket, key := fsm.Column{Name: "bucket", Value: "b"}, fsm.Column{Name: "s3_key", Value: "k"}
	write(fsm.EffectUpsert, bucket, key, fsm.Column{Name: "download_status", Value: "pending"}, fsm.Column{Name: "size_bytes", Value: int64(3)})
	write(fsm.EffectUpsert, bucket, key, fsm.Column{Name: "download_status", Value: "completed"}, fsm.Column{Name: "downloaded_at", Value: StartTime})
	f.WantImages("img", "completed", 1)
	f.WantImages("img", "pending", 0)
	write(fsm.EffectUpdate, fsm.Column{Name: "download_status", Value: "failed"}, fsm.Column{Name: "size_bytes", Value: nil})
	f.WantImages("img", "failed", 1)
	write(fsm.EffectDelete)
	f.WantImages("img", "failed", 0)
}
