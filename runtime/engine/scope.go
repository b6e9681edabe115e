package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// scope is a transaction of the engine's own: what it has decided and holds back,
// and what it leaves to be done once it is committed. What only others would see
// (effects, deadlines, keys) is written at its end, so that what one of its events
// asks for and another takes back is never written at all.
type txn[T any] struct {
	engine        *Engine[T]
	tx            T
	queued        []store.Commit // what is written before the drafts
	pending        []pendingWrite        // one a record, in the order in which they are written
	calls         []txCall[T]
	outcomes      []Outcome
	demands       demands
	refusals      []func() // measure what was refused
	saves         int      // how often something was written
	failed        error    // what could not be written
	shortLockWait bool     // others wait for it
	inline        bool     // it carries out what Inline names
	inlined       bool     // it did
	reserved          reservation[T]
	needsWakeup          bool // it leaves something for a worker to look for
}

// within runs f in a transaction, writes what it has decided, and hands over what
// that leaves. f may run twice: again where an effect could not be carried out
// within the transaction after all.
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
	s := &txn[T]{engine: e, inline: inline}
	committed := false
	defer func() { s.end(ctx, committed) }() // also when f panics
	err := e.store.InTx(ctx, func(tx T) error {
		s.tx = tx
		if err := f(s); err != nil {
			return err
		}
		return s.finish(ctx)
	})
	committed = err == nil
	var again *declinedError
	if !errors.As(err, &again) {
		for _, measure := range s.refusals {
			measure()
		}
	}
	return err
}

// end begins what the transaction has left in the hands of workers and tells of
// what it was, or gives the hands back.
func (s *txn[T]) end(ctx context.Context, committed bool) {
	if !committed {
		s.reserved.release()
		return
	}
	s.reserved.start()
	if s.needsWakeup {
		s.engine.workers.wake()
	}
	s.engine.Committed(ctx, s.outcomes...)
}

// consider loads and decides.
func (s *txn[T]) consider(ctx context.Context, r request[T]) (plan[T], error) {
	row, err := s.load(ctx, r)
	if err != nil {
		return plan[T]{}, err
	}
	return s.engine.decide(r, row)
}

// load is what the database would say if all that the scope holds back were
// written.
func (s *txn[T]) load(ctx context.Context, r request[T]) (row loaded, err error) {
	d := s.find(place{r.machine.Name(), r.id})
	known := false
	if d != nil {
		row.Row, known = d.row(len(d.Outbox)) // its own effects are held back with it
	}
	if known && len(r.keys(row.Record)) == 0 {
		return row, nil
	}
	rows, err := s.engine.load(ctx, s.tx, r)
	if err != nil {
		return loaded{}, err
	}
	if known {
		row.IdempotencyKeys = rows[0].IdempotencyKeys
	} else {
		row = rows[0]
	}
	for i := range s.pending {
		if s.pending[i].Machine == r.machine.Name() {
			row.IdempotencyKeys = append(row.IdempotencyKeys, s.pending[i].IdempotencyKeys...)
		}
	}
	return row, nil
}

func (s *txn[T]) find(at place) *pendingWrite {
	i := slices.IndexFunc(s.pending, func(d pendingWrite) bool { return d.place() == at })
	if i < 0 {
		return nil
	}
	return &s.pending[i]
}

// expect makes room for the plans of so many events.
func (s *txn[T]) expect(events int) {
	s.pending, s.outcomes = slices.Grow(s.pending, events), slices.Grow(s.outcomes, events)
}

// hold holds back what p writes about records of which nothing else is held back.
func (s *txn[T]) addNew(p plan[T]) {
	s.pending = append(s.pending, p.writes...)
	s.calls = append(s.calls, p.calls...)
	s.outcomes = append(s.outcomes, p.outcome)
	if p.demand.version != 0 {
		s.demands = append(s.demands, p.demand)
	}
}

// add holds back what p writes.
func (s *txn[T]) add(p plan[T]) {
	writes := p.writes
	p.writes = nil
	s.addNew(p)
	for _, d := range writes {
		s.addWrite(d)
	}
}

// join adds a draft to that of its record. What is held back of other records
// comes before it, since it may refer to them.
func (s *txn[T]) addWrite(d pendingWrite) {
	i := slices.IndexFunc(s.pending, func(other pendingWrite) bool { return other.place() == d.place() })
	if i < 0 {
		s.pending = append(s.pending, d)
		return
	}
	if slices.ContainsFunc(s.pending[i+1:], func(other pendingWrite) bool { _, some := other.recordWrites(); return some }) {
		s.queueRecordWrites()
	}
	s.pending[i].merge(d)
}

// advance sets apart the fronts of the drafts: what follows is written after them.
func (s *txn[T]) queueRecordWrites() {
	for i := range s.pending {
		if c, some := s.pending[i].recordWrites(); some {
			s.queued = append(s.queued, c)
			s.pending[i].markWritten()
		}
	}
}

// flush writes the fronts of what is held back.
func (s *txn[T]) flush(ctx context.Context) error {
	s.queueRecordWrites()
	return s.save(ctx, nil, false)
}

// finish carries out what can be carried out within the transaction, and writes
// the rest of what is held back. The transaction ends with that.
func (s *txn[T]) finish(ctx context.Context) error {
	if s.failed != nil {
		return s.failed
	}
	if err := s.carryOut(ctx); err != nil {
		return err
	}
	s.reserved = s.engine.reserve(s.pending)
	err := s.write(ctx, len(s.calls) == 0)
	if err != nil && s.inlined {
		return declined(err)
	}
	return err
}

// write writes all that is held back, and runs the handlers that belong into the
// transaction. The store comes first: a conflict is found there, before any
// handler has run. last says that the transaction ends with it.
func (s *txn[T]) write(ctx context.Context, last bool) error {
	commits := make([]store.Commit, 0, len(s.pending))
	for i := range s.pending {
		d := &s.pending[i]
		s.needsWakeup = s.needsWakeup || d.needsWakeup()
		if c, some := d.rest(); some {
			c.NoWakeup = !d.needsWakeup()
			commits = append(commits, c)
		}
	}
	calls := s.calls
	s.pending, s.calls = nil, nil
	if err := s.save(ctx, commits, last); err != nil {
		return err
	}
	return runCalls(ctx, s.tx, calls)
}

// save writes the fronts and then commits.
func (s *txn[T]) save(ctx context.Context, commits []store.Commit, last bool) error {
	if len(s.queued) > 0 {
		commits = append(s.queued, commits...)
		s.queued = nil
	}
	if len(commits) == 0 {
		return nil
	}
	commits[0].ShortLockWait, commits[len(commits)-1].Last = s.shortLockWait, last
	s.saves++
	if err := s.engine.store.Save(ctx, s.tx, commits); err != nil {
		s.failed = s.demands.explain(err)
		return s.failed
	}
	return nil
}

// fire decides r and holds back what it writes, unless a handler has to see it.
func (s *txn[T]) fire(ctx context.Context, r request[T]) (Outcome, error) {
	p, err := s.consider(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	s.add(p)
	if len(s.calls) > 0 {
		if err := s.write(ctx, false); err != nil {
			s.failed = err
			return Outcome{}, err
		}
	}
	return p.outcome, nil
}
