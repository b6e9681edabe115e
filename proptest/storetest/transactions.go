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

func transactions[Tx any]() []test[Tx] {
	return []test[Tx]{
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

func errorRollsBack[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	c.Outbox = []store.OutboxMessage{b.message(h, 1, "kafka")}
	mine := fmt.Errorf("mine: %w", store.ErrConflict) // which is for the caller to try again
	calls := 0
	err := b.Store.InTx(b.ctx, func(tx Tx) error {
		calls++
		b.must(b.Store.Save(b.ctx, tx, []store.Commit{c}))
		return mine
	})
	if err != mine || calls != 1 { //nolint:errorlint // as it is
		b.Fatalf("the error is %v after %d calls", err, calls)
	}
	b.stands(h)
	b.counts("fsm_outbox", 0)
}

func panicRollsBack[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	seen := func() (seen any) {
		defer func() { seen = recover() }()
		err := b.Store.InTx(b.ctx, func(tx Tx) error {
			b.must(b.Store.Save(b.ctx, tx, []store.Commit{c}))
			panic("mine")
		})
		return fmt.Sprintf("no panic but %v", err)
	}()
	if seen != "mine" {
		b.Fatal(seen)
	}
	b.stands(h) // and the store goes on
}

// ownWrites has a table of the caller's own written beside a step: both or
// none.
func ownWrites[Tx any](b *bench[Tx]) {
	b.must(b.Store.InTx(b.ctx, func(tx Tx) error { return b.Exec(b.ctx, tx, "CREATE TABLE mine (n integer NOT NULL)") }))
	h := b.deal()
	both := func(n int, c store.Commit) error {
		return b.Store.InTx(b.ctx, func(tx Tx) error {
			if err := b.Exec(b.ctx, tx, fmt.Sprintf("INSERT INTO mine (n) VALUES (%d)", n)); err != nil {
				return err
			}
			return b.Store.Save(b.ctx, tx, []store.Commit{c})
		})
	}
	c, next := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	b.must(both(1, c))
	b.wants(both(2, c), store.ErrConflict)
	b.counts("mine WHERE n = 1", 1)
	b.counts("mine", 1)
	b.stands(next)
}

// startsInTransaction ends a download: its row of images and the run of unpack
// that it starts are there with it, or not at all.
func startsInTransaction[Tx any](b *bench[Tx]) {
	h := b.downloaded("img")
	c, next := b.commit(h, download.Validated{ChecksumOk: true, StructureOk: true, SecurityOk: true}, fsm.System(), epoch)
	for _, s := range c.Steps {
		c.Writes = append(c.Writes, b.writesOf(h, s)...)
	}
	if len(c.Writes) != 1 {
		b.Fatalf("the steps write %d rows", len(c.Writes))
	}
	child, started := b.commit(b.new(b.unpacks), unpack.Start{ImageID: "img", LocalPath: "/x", Checksum: "c", PoolName: "p"}, fsm.System(), epoch)
	broken := child
	broken.IdempotencyKeys = []store.IdempotencyKey{key(started, "k"), key(started, "k")}
	b.wants(b.save(c, broken), store.ErrKeyUsed)
	b.stands(h)
	b.image("img", "completed", 0)
	b.counts("unpack_records", 0)

	b.must(b.save(c, child))
	b.stands(next)
	b.stands(started)
	b.image("img", "completed", 1)
}

// writesOf lists the table effects of a step.
func (b *bench[Tx]) writesOf(h head[Tx], s store.StepWrite) (writes []fsm.TableWrite) {
	b.Helper()
	d, err := h.machine.Fire(h.record, fsm.Event{Name: "VALIDATED", Payload: []byte(`{"checksum_ok":true,"structure_ok":true,"security_ok":true}`)}, fsm.Input{By: fsm.System(), Now: epoch})
	b.must(err)
	for _, step := range d.Steps {
		if step.Transition != s.Transition {
			continue
		}
		for _, e := range step.Effects {
			if e.Kind == fsm.EffectUpsert {
				w, err := h.machine.TableWrite(e)
				b.must(err)
				writes = append(writes, w)
			}
		}
	}
	return writes
}

func endedContext[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	b.wants(saveTo(ctx, b.Store, c), context.Canceled)
	_, err := b.Store.Claim(ctx, b.claim(901, epoch))
	b.wants(err, context.Canceled)
	_, err = b.Store.Read(ctx, store.Read{Kind: store.ReadDeadLetters, Limit: 1})
	b.wants(err, context.Canceled)
	b.stands(h)
}

func contextEndsInside[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, _ := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	ctx, cancel := context.WithCancel(b.ctx)
	err := b.Store.InTx(ctx, func(tx Tx) error {
		b.must(b.Store.Save(ctx, tx, []store.Commit{c}))
		cancel()
		return nil
	})
	b.wants(err, context.Canceled)
	b.wants(err, store.ErrStore)
	b.stands(h)
}

func loadSeesSave[Tx any](b *bench[Tx]) {
	h := b.deal()
	c, next := b.commit(h, deal.SubmitOffer{}, advertiser, epoch)
	b.must(b.Store.InTx(b.ctx, func(tx Tx) error {
		if err := b.Store.Save(b.ctx, tx, []store.Commit{c}); err != nil {
			return err
		}
		rows, err := b.Store.Load(b.ctx, tx, []store.Query{b.query(h, store.Query{}), b.query(b.new(b.wals), store.Query{})})
		if err == nil && (len(rows) != 2 || rows[0].Version != next.version || rows[1].Record != nil) {
			b.Errorf("it found %+v", rows)
		}
		return err
	}))
}

// waitForWork waits for an hour. Commits wake it long before, though the first
// ones may come before it waits.
func waitForWork[Tx any](b *bench[Tx]) {
	h := b.deal()
	ctx, cancel := context.WithTimeout(b.ctx, time.Minute)
	defer cancel()
	for b.Store.Wait(ctx, short) == nil && !b.quiet(ctx) { // older commits wake it too
		continue
	}
	woken := make(chan error, 1)
	go func() { woken <- b.Store.Wait(ctx, time.Hour) }()
	for seq := 0; ; seq++ {
		b.send(h, b.message(h, seq, "kafka"))
		select {
		case err := <-woken:
			b.must(err)
			return
		case <-time.After(short):
		}
	}
}

// short is long enough to tell waiting from not waiting.
const short = 20 * time.Millisecond

// quiet reports whether a short wait ends by its time alone.
func (b *bench[Tx]) quiet(ctx context.Context) bool {
	begin := time.Now()
	return b.Store.Wait(ctx, short) != nil || time.Since(begin) >= short
}

func waitAtLatest[Tx any](b *bench[Tx]) {
	b.must(b.Store.Wait(b.ctx, time.Millisecond))
	b.must(b.Store.Wait(b.ctx, time.Millisecond))
}

func waitContext[Tx any](b *bench[Tx]) {
	ctx, cancel := context.WithCancel(b.ctx)
	cancel()
	// Early for no reason is allowed, for ever is not.
	for range 3 {
		if err := b.Store.Wait(ctx, time.Hour); err != nil {
			b.wants(err, context.Canceled)
			return
		}
	}
	b.Fatal("the context is over and Wait says nothing")
}
