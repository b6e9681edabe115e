package storetest

import (
	"context"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
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

func errorRollsBack[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	c.Outbox = []store.OutboxMessage{f.Message(h, 1, "kafka")}
	mine := fmt.Errorf("mine: %w", store.ErrConflict) // which is for the caller to try again
	calls := 0
	err := f.Store.InTx(f.Context(), func(tx Tx) error {
		calls++
		f.Must(f.Store.Save(f.Context(), tx, []store.Commit{c}))
		return mine
	})
	if err != mine || calls != 1 { //nolint:errorlint // as it is
		f.Fatalf("the error is %v after %d calls", err, calls)
	}
	f.wantStored(h)
	f.WantCount("fsm_outbox", 0)
}

func panicRollsBack[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	seen := func() (seen any) {
		defer func() { seen = recover() }()
		err := f.Store.InTx(f.Context(), func(tx Tx) error {
			f.Must(f.Store.Save(f.Context(), tx, []store.Commit{c}))
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
func ownWrites[Tx any](f *Fixture[Tx]) {
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error { return f.Exec(f.Context(), tx, "CREATE TABLE mine (n integer NOT NULL)") }))
	h := f.deal()
	both := func(n int, c store.Commit) error {
		return f.Store.InTx(f.Context(), func(tx Tx) error {
			if err := f.Exec(f.Context(), tx, fmt.Sprintf("INSERT INTO mine (n) VALUES (%d)", n)); err != nil {
				return err
			}
			return f.Store.Save(f.Context(), tx, []store.Commit{c})
		})
	}
	c, next := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	f.Must(both(1, c))
	f.WantError(both(2, c), store.ErrConflict)
	f.WantCount("mine WHERE n = 1", 1)
	f.WantCount("mine", 1)
	f.wantStored(next)
}

// startsInTransaction ends a download. Its row of images and the run of unpack that it
// starts are committed with it or not at all.
func startsInTransaction[Tx any](f *Fixture[Tx]) {
	h := f.downloaded("img")
	c, next := f.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), StartTime)
	for _, s := range c.Steps {
		c.Writes = append(c.Writes, f.writesOf(h, s)...)
	}
	if len(c.Writes) != 1 {
		f.Fatalf("the steps write %d rows", len(c.Writes))
	}
	child, started := f.commit(f.new(f.Unpacks), unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System(), StartTime)
	broken := child
	broken.IdempotencyKeys = []store.IdempotencyKey{key(started, "k"), key(started, "k")}
	f.WantError(f.Save(c, broken), store.ErrKeyUsed)
	f.wantStored(h)
	f.WantImages("img", "completed", 0)
	f.WantCount("unpack_records", 0)

	f.Must(f.Save(c, child))
	f.wantStored(next)
	f.wantStored(started)
	f.WantImages("img", "completed", 1)
}

// writesOf lists the table effects of a step.
func (f *Fixture[Tx]) writesOf(h Versioned, s store.StepWrite) (writes []fsm.TableWrite) {
	f.Helper()
	d, err := h.machine.Fire(h.record, fsm.Event{Name: "VALIDATED", Payload: []byte(`{"checksum_ok":true,"structure_ok":true,"security_ok":true}`)}, fsm.Input{By: fsm.System(), Now: StartTime})
	f.Must(err)
	for _, step := range d.Steps {
		if step.Transition != s.Transition {
			continue
		}
		for _, e := range step.Effects {
			if e.Kind == fsm.EffectUpsert {
				w, err := h.machine.TableWrite(e)
				f.Must(err)
				writes = append(writes, w)
			}
		}
	}
	return writes
}

func endedContext[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	f.WantError(saveTo(ctx, f.Store, c), context.Canceled)
	_, err := f.Store.Claim(ctx, f.Claim(901, StartTime))
	f.WantError(err, context.Canceled)
	_, err = f.Store.Read(ctx, store.Read{Kind: store.ReadDeadLetters, Limit: 1})
	f.WantError(err, context.Canceled)
	f.wantStored(h)
}

func contextEndsInside[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, _ := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	ctx, cancel := context.WithCancel(f.Context())
	err := f.Store.InTx(ctx, func(tx Tx) error {
		f.Must(f.Store.Save(ctx, tx, []store.Commit{c}))
		cancel()
		return nil
	})
	f.WantError(err, context.Canceled)
	f.WantError(err, store.ErrStore)
	f.wantStored(h)
}

func loadSeesSave[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	c, next := f.commit(h, deal.SubmitOffer{}, Advertiser, StartTime)
	f.Must(f.Store.InTx(f.Context(), func(tx Tx) error {
		if err := f.Store.Save(f.Context(), tx, []store.Commit{c}); err != nil {
			return err
		}
		rows, err := f.Store.Load(f.Context(), tx, []store.Query{f.query(h, store.Query{}), f.query(f.new(f.WALs), store.Query{})})
		if err == nil && (len(rows) != 2 || rows[0].Version != next.version || rows[1].Record != nil) {
			f.Errorf("it found %+v", rows)
		}
		return err
	}))
}

// waitForWork checks that commits end a wait.
func waitForWork[Tx any](f *Fixture[Tx]) {
	h := f.deal()
	f.wantWoken(func(seq int) { f.send(h, f.Message(h, seq, "kafka")) })
}

const (
	// short is long enough to tell waiting from not waiting.
	short = 20 * time.Millisecond
	// turns is how often a case tries what must happen: for some minutes, and on a slow
	// computer for longer.
	turns = 10_000
)

// wantWoken waits for an hour, and fails the test if calls of commit do not end the wait.
// The first calls may happen before the wait starts.
func (f *Fixture[Tx]) wantWoken(commit func(turn int)) {
	f.Helper()
	f.waitFully()
	woken := make(chan error, 1)
	go func() { woken <- f.Store.Wait(f.Context(), time.Hour) }()
	for turn := range turns {
		commit(turn)
		select {
		case err := <-woken:
			f.Must(err)
			return
		case <-time.After(short):
		}
	}
	f.Fatalf("%d commits have not ended a wait", turns)
}

// waitFully waits until a short wait ends because its time is over. Earlier commits end
// waits too.
func (f *Fixture[Tx]) waitFully() {
	f.Helper()
	for range turns {
		begin := time.Now()
		f.Must(f.Store.Wait(f.Context(), short))
		if time.Since(begin) >= short {
			return
		}
	}
	f.Fatalf("%d waits without a commit ended early", turns)
}

func waitAtLatest[Tx any](f *Fixture[Tx]) {
	f.Must(f.Store.Wait(f.Context(), time.Millisecond))
	f.Must(f.Store.Wait(f.Context(), time.Millisecond))
}

func waitContext[Tx any](f *Fixture[Tx]) {
	ctx, cancel := context.WithCancel(f.Context())
	cancel()
	// Wait may return early. It must not block for ever.
	for range 3 {
		if err := f.Store.Wait(ctx, time.Hour); err != nil {
			f.WantError(err, context.Canceled)
			return
		}
	}
	f.Fatal("the context is cancelled and Wait returns no error")
}
