package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

func transactions[Tx any]() []storeCase[Tx] {
	return []storeCase[Tx]{
		{"AnErrorRollsBackAndComesBackAsItIs", errorRollsBack[Tx]},
		{"APanicRollsBackAndGoesOnUp", panicRollsBack[Tx]},
		{"TheCallersOwnWritesCommitTogether", ownWrites[Tx]},
		{"TableRowsAndStartsAreInTheTransaction", startsInTransaction[Tx]},
		{"AnEndedContextIsFound", endedContext[Tx]},
		{"AContextThatEndsInsideRollsBack", contextEndsInside[Tx]},
		{"LoadSeesWhatWasSavedBefore", loadSeesSave[Tx]},
		{"WaitReturnsWhenWorkArrives", waitForWork[Tx]},
		{"WaitReturnsAtTheLatestThen", waitAtLatest[Tx]},
		{"WaitReturnsTheErrorOfItsContext", waitContext[Tx]},
	}
}

func errorRollsBack[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	c.Outbox = []store.OutboxMessage{f.message(h, 1, "kafka")}
	mine := fmt.Errorf("mine: %w", store.ErrConflict) // which is for the caller to try again
	calls := 0
	err := f.Store.InTx(f.ctx, func(tx Tx) error {
		calls++
		f.must(f.Store.Save(f.ctx, tx, []store.Commit{c}))
		return mine
	})
	if err != mine || calls != 1 { //nolint:errorlint // as it is
		f.Fatalf("the error is %v after %d calls", err, calls)
	}
	f.wantStored(h)
	f.wantCount("fsm_outbox", 0)
}

func panicRollsBack[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	seen := func() (seen any) {
		defer func() { seen = recover() }()
		err := f.Store.InTx(f.ctx, func(tx Tx) error {
			f.must(f.Store.Save(f.ctx, tx, []store.Commit{c}))
			panic("mine")
		})
		return fmt.Sprintf("no panic but %v", err)
	}()
	if seen != "mine" {
		f.Fatal(seen)
	}
	f.wantStored(h) // the store still works
}

// ownWrites writes to a table of the caller in the transaction of a step. Both are
// committed or neither.
func ownWrites[Tx any](f *fixture[Tx]) {
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error { return f.Exec(f.ctx, tx, "CREATE TABLE mine (n integer NOT NULL)") }))
	h := f.deal()
	both := func(n int, c store.Commit) error {
		return f.Store.InTx(f.ctx, func(tx Tx) error {
			if err := f.Exec(f.ctx, tx, fmt.Sprintf("INSERT INTO mine (n) VALUES (%d)", n)); err != nil {
				return err
			}
			return f.Store.Save(f.ctx, tx, []store.Commit{c})
		})
	}
	c, next := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	f.must(both(1, c))
	f.wantError(both(2, c), store.ErrConflict)
	f.wantCount("mine WHERE n = 1", 1)
	f.wantCount("mine", 1)
	f.wantStored(next)
}

// startsInTransaction ends a download. Its row of images and the run of unpack that it
// starts are committed with it or not at all.
func startsInTransaction[Tx any](f *fixture[Tx]) {
	h := f.downloaded("img")
	c, next := f.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), startTime)
	for _, s := range c.Steps {
		c.Writes = append(c.Writes, f.writesOf(h, s)...)
	}
	if len(c.Writes) != 1 {
		f.Fatalf("the steps write %d rows", len(c.Writes))
	}
	child, started := f.commit(f.new(f.unpacks), unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System(), startTime)
	broken := child
	broken.IdempotencyKeys = []store.IdempotencyKey{key(started, "k"), key(started, "k")}
	f.wantError(f.save(c, broken), store.ErrKeyUsed)
	f.wantStored(h)
	f.wantImages("img", "completed", 0)
	f.wantCount("unpack_records", 0)

	f.must(f.save(c, child))
	f.wantStored(next)
	f.wantStored(started)
	f.wantImages("img", "completed", 1)
}

// writesOf lists the table effects of a step.
func (f *fixture[Tx]) writesOf(h versioned[Tx], s store.StepWrite) (writes []fsm.TableWrite) {
	f.Helper()
	d, err := h.machine.Fire(h.record, fsm.Event{Name: "VALIDATED", Payload: []byte(`{"checksum_ok":true,"structure_ok":true,"security_ok":true}`)}, fsm.Input{By: fsm.System(), Now: startTime})
	f.must(err)
	for _, step := range d.Steps {
		if step.Transition != s.Transition {
			continue
		}
		for _, e := range step.Effects {
			if e.Kind == fsm.EffectUpsert {
				w, err := h.machine.TableWrite(e)
				f.must(err)
				writes = append(writes, w)
			}
		}
	}
	return writes
}

func endedContext[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	f.wantError(saveTo(ctx, f.Store, c), context.Canceled)
	_, err := f.Store.Claim(ctx, f.claim(901, startTime))
	f.wantError(err, context.Canceled)
	_, err = f.Store.Read(ctx, store.Read{Kind: store.ReadDeadLetters, Limit: 1})
	f.wantError(err, context.Canceled)
	f.wantStored(h)
}

func contextEndsInside[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	ctx, cancel := context.WithCancel(f.ctx)
	err := f.Store.InTx(ctx, func(tx Tx) error {
		f.must(f.Store.Save(ctx, tx, []store.Commit{c}))
		cancel()
		return nil
	})
	f.wantError(err, context.Canceled)
	f.wantError(err, store.ErrStore)
	f.wantStored(h)
}

func loadSeesSave[Tx any](f *fixture[Tx]) {
	h := f.deal()
	c, next := f.commit(h, deal.SubmitOffer{}, advertiser, startTime)
	f.must(f.Store.InTx(f.ctx, func(tx Tx) error {
		if err := f.Store.Save(f.ctx, tx, []store.Commit{c}); err != nil {
			return err
		}
		rows, err := f.Store.Load(f.ctx, tx, []store.Query{f.query(h, store.Query{}), f.query(f.new(f.wals), store.Query{})})
		if err == nil && (len(rows) != 2 || rows[0].Version != next.version || rows[1].Record != nil) {
			f.Errorf("it found %+v", rows)
		}
		return err
	}))
}

// waitForWork waits for an hour. Commits end the wait. The first commits may happen
// before the wait starts.
func waitForWork[Tx any](f *fixture[Tx]) {
	h := f.deal()
	ctx, cancel := context.WithTimeout(f.ctx, time.Minute)
	defer cancel()
	for f.Store.Wait(ctx, short) == nil && !f.waitsFully(ctx) { // earlier commits end it too
		continue
	}
	woken := make(chan error, 1)
	go func() { woken <- f.Store.Wait(ctx, time.Hour) }()
	for seq := 0; ; seq++ {
		f.send(h, f.message(h, seq, "kafka"))
		select {
		case err := <-woken:
			f.must(err)
			return
		case <-time.After(short):
		}
	}
}

// short is long enough to tell waiting from not waiting.
const short = 20 * time.Millisecond

// waitsFully reports whether a short wait ends because its time is over.
func (f *fixture[Tx]) waitsFully(ctx context.Context) bool {
	begin := time.Now()
	return f.Store.Wait(ctx, short) != nil || time.Since(begin) >= short
}

func waitAtLatest[Tx any](f *fixture[Tx]) {
	f.must(f.Store.Wait(f.ctx, time.Millisecond))
	f.must(f.Store.Wait(f.ctx, time.Millisecond))
}

func waitContext[Tx any](f *fixture[Tx]) {
	ctx, cancel := context.WithCancel(f.ctx)
	cancel()
	// Wait may return early. It must not block for ever.
	for range 3 {
		if err := f.Store.Wait(ctx, time.Hour); err != nil {
			f.wantError(err, context.Canceled)
			return
		}
	}
	f.Fatal("the context is cancelled and Wait returns no error")
}
