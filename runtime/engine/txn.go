package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// txn is a transaction that the engine commits: the writes that it holds back, and what follows
// its commit. Messages, deadlines and keys are written at its end, so what one event asks for and
// another takes back is never written.
type txn[T any] struct {
	engine        *Engine[T]
	tx            T
	queued        []store.Commit // what is written before the drafts
	pending       []pendingWrite // one a record, in the order in which they are written
	calls         []txCall[T]
	outcomes      []Outcome
	demands       demands
	refusals      []func() // measure what was refused
	saves         int      // how often something was written
	failed        error    // what could not be written
	shortLockWait bool     // others wait for it
	inline        bool     // it carries out what Inline names
	inlined       bool     // it did
	reserved      reservation[T]
	needsWakeup   bool // it leaves something for a worker to look for
}

// inTxn runs f in a transaction, writes what its events decided, commits, and starts the reserved
// messages. If an inline effect failed, it runs f again in another transaction, without inline
// effects.
func (e *Engine[T]) inTxn(ctx context.Context, f func(*txn[T]) error) error {
	if e.inlines {
		e.followPauses(ctx)
	}
	err := e.inTxnOnce(ctx, e.inlines, f)
	var d *declinedError
	if errors.As(err, &d) && ctx.Err() == nil {
		e.tellDeclined(ctx, d)
		err = e.inTxnOnce(ctx, false, f)
	}
	return err
}

func (e *Engine[T]) inTxnOnce(ctx context.Context, inline bool, f func(*txn[T]) error) error {
	t := &txn[T]{engine: e, inline: inline}
	committed := false
	defer func() { t.end(ctx, committed) }() // also when f panics
	err := e.store.InTx(ctx, func(tx T) error {
		t.tx = tx
		if err := f(t); err != nil {
			return err
		}
		return t.finish(ctx)
	})
	committed = err == nil
	var again *declinedError
	if !errors.As(err, &again) {
		for _, measure := range t.refusals {
			measure()
		}
	}
	return err
}

// end starts the reserved messages after a commit, wakes workers and emits log lines and metrics.
// Without a commit it releases the reservation.
func (t *txn[T]) end(ctx context.Context, committed bool) {
	if !committed {
		t.reserved.release()
		return
	}
	t.reserved.start()
	if t.needsWakeup {
		t.engine.workers.wake()
	}
	t.engine.Committed(ctx, t.outcomes...)
}

// consider loads and decides.
func (t *txn[T]) consider(ctx context.Context, r request[T]) (plan[T], error) {
	row, err := t.load(ctx, r)
	if err != nil {
		return plan[T]{}, err
	}
	return t.engine.decide(r, row)
}

// load returns what the database would return if all pending writes were written.
func (t *txn[T]) load(ctx context.Context, r request[T]) (row loaded, err error) {
	w := t.find(place{r.machine.Name(), r.id})
	known := false
	if w != nil {
		row.Row, known = w.row(len(w.Outbox)) // its own effects are held back with it
	}
	if known && len(r.keys(row.Record)) == 0 {
		return row, nil
	}
	rows, err := t.engine.load(ctx, t.tx, r)
	if err != nil {
		return loaded{}, err
	}
	if known {
		row.IdempotencyKeys = rows[0].IdempotencyKeys
	} else {
		row = rows[0]
	}
	for i := range t.pending {
		if t.pending[i].Machine == r.machine.Name() {
			row.IdempotencyKeys = append(row.IdempotencyKeys, t.pending[i].IdempotencyKeys...)
		}
	}
	return row, nil
}

func (t *txn[T]) find(at place) *pendingWrite {
	i := slices.IndexFunc(t.pending, func(w pendingWrite) bool { return w.place() == at })
	if i < 0 {
		return nil
	}
	return &t.pending[i]
}

// expect makes room for the plans of so many events.
func (t *txn[T]) expect(events int) {
	t.pending, t.outcomes = slices.Grow(t.pending, events), slices.Grow(t.outcomes, events)
}

// addNew adds the writes of p, whose records have no pending writes yet.
func (t *txn[T]) addNew(p plan[T]) {
	t.pending = append(t.pending, p.writes...)
	t.calls = append(t.calls, p.calls...)
	t.outcomes = append(t.outcomes, p.outcome)
	if p.demand.version != 0 {
		t.demands = append(t.demands, p.demand)
	}
}

// add adds the writes of p.
func (t *txn[T]) add(p plan[T]) {
	writes := p.writes
	p.writes = nil
	t.addNew(p)
	for _, w := range writes {
		t.addWrite(w)
	}
}

// addWrite merges w into the pending write of its record. If records behind that one have pending
// writes, these are queued first, since w may refer to them.
func (t *txn[T]) addWrite(w pendingWrite) {
	i := slices.IndexFunc(t.pending, func(other pendingWrite) bool { return other.place() == w.place() })
	if i < 0 {
		t.pending = append(t.pending, w)
		return
	}
	if slices.ContainsFunc(t.pending[i+1:], func(other pendingWrite) bool { _, some := other.recordWrites(); return some }) {
		t.queueRecordWrites()
	}
	t.pending[i].merge(w)
}

// queueRecordWrites moves the record writes of all pending writes to the queue, which is written
// first.
func (t *txn[T]) queueRecordWrites() {
	for i := range t.pending {
		if c, some := t.pending[i].recordWrites(); some {
			t.queued = append(t.queued, c)
			t.pending[i].markWritten()
		}
	}
}

// flush writes the record writes of all pending writes.
func (t *txn[T]) flush(ctx context.Context) error {
	t.queueRecordWrites()
	return t.save(ctx, nil, false)
}

// finish carries out the inline effects, reserves messages for this process's workers, and writes
// everything else. It is the end of the transaction.
func (t *txn[T]) finish(ctx context.Context) error {
	if t.failed != nil {
		return t.failed
	}
	if err := t.carryOut(ctx); err != nil {
		return err
	}
	t.reserved = t.engine.reserve(t.pending)
	err := t.write(ctx, len(t.calls) == 0)
	if err != nil && t.inlined {
		return declined(err)
	}
	return err
}

// write writes all pending writes and runs the transaction handlers. The writes come first, so
// that a conflict is found before any handler runs. last says that the transaction ends with it.
func (t *txn[T]) write(ctx context.Context, last bool) error {
	commits := make([]store.Commit, 0, len(t.pending))
	for i := range t.pending {
		w := &t.pending[i]
		t.needsWakeup = t.needsWakeup || w.needsWakeup()
		if c, some := w.rest(); some {
			c.NoWakeup = !w.needsWakeup()
			commits = append(commits, c)
		}
	}
	calls := t.calls
	t.pending, t.calls = nil, nil
	if err := t.save(ctx, commits, last); err != nil {
		return err
	}
	return runCalls(ctx, t.tx, calls)
}

// save writes the queue and then commits.
func (t *txn[T]) save(ctx context.Context, commits []store.Commit, last bool) error {
	if len(t.queued) > 0 {
		commits = append(t.queued, commits...)
		t.queued = nil
	}
	if len(commits) == 0 {
		return nil
	}
	commits[0].ShortLockWait, commits[len(commits)-1].Last = t.shortLockWait, last
	t.saves++
	if err := t.engine.store.Save(ctx, t.tx, commits); err != nil {
		t.failed = t.demands.explain(err)
		return t.failed
	}
	return nil
}

// fire decides r and adds its writes. If it has a transaction handler, everything is written
// before that runs.
func (t *txn[T]) fire(ctx context.Context, r request[T]) (Outcome, error) {
	p, err := t.consider(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	t.add(p)
	if len(t.calls) > 0 {
		if err := t.write(ctx, false); err != nil {
			t.failed = err
			return Outcome{}, err
		}
	}
	return p.outcome, nil
}
