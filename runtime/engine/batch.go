package engine

import (
	"cmp"
	"context"
	"errors"
	"runtime/debug"
	"slices"
	"sync"
)

// abreast is how many transactions of a batch run at the same time: while the database writes one,
// the engine decides another.
const abreast = 4

// FireBatch applies many events, Config.Batch of them in a transaction, and returns their outcomes
// in the same order. Outcome.Err says why an event was not accepted. Events of one record are
// applied in their order, its creation first. A refused event does not keep the others from being
// stored. After ErrStore the outcome of an event may be unknown, as with Fire; FireBatch does not
// fire it again. The returned error is that of the context; the outcomes that follow carry it.
func (e *Engine[T]) FireBatch(ctx context.Context, firings []Firing) ([]Outcome, error) {
	outcomes := make([]Outcome, len(firings))
	if err := checkNested(ctx); err != nil {
		return outcomes, err
	}
	if err := e.synchronise(ctx); err != nil {
		for i, f := range firings {
			outcomes[i].Err = describe(f, err)
		}
		return outcomes, ctx.Err()
	}
	ctx, end := e.config.Trace(ctx, Operation{Kind: OpBatch, Size: len(firings)})
	defer func() { end(refusals(outcomes)) }()
	items := make([]item[T], 0, len(firings))
	for i, f := range firings {
		r, err := e.request(f)
		if err != nil {
			outcomes[i].Err = describe(f, err)
			continue
		}
		items = append(items, item[T]{i, r})
	}
	for _, layer := range layers(items) {
		var all sync.WaitGroup
		free := make(chan struct{}, abreast)
		for round := range slices.Chunk(layer, e.config.Batch) {
			free <- struct{}{}
			all.Go(func() {
				defer func() { <-free }()
				e.applyRound(ctx, round, firings, outcomes)
			})
		}
		all.Wait()
	}
	return outcomes, ctx.Err()
}

// applyRound fills in the outcomes of a round. A panic on the way is one, too.
func (e *Engine[T]) applyRound(ctx context.Context, round []item[T], firings []Firing, outcomes []Outcome) {
	next := 0
	defer func() {
		if v := recover(); v != nil {
			err := &PanicError{Value: v, Stack: debug.Stack()}
			for _, it := range round[next:] {
				outcomes[it.index] = Outcome{Err: describe(firings[it.index], err)}
			}
		}
	}()
	failure := ctx.Err()
	if failure == nil {
		failure = e.fireRound(ctx, round, outcomes)
	}
	if failure == nil {
		return
	}
	// Someone else's write, or a refusal of the database, undid the round: one
	// at a time tells whose it was. What the store failed to say may have been
	// committed.
	for _, it := range round {
		o, err := Outcome{}, failure
		if !errors.Is(failure, ErrStore) {
			o, err = e.fireOnItsOwn(ctx, it.request)
		}
		if err != nil {
			o = Outcome{Err: describe(firings[it.index], err)}
		}
		outcomes[it.index] = o
		next++
	}
}

// item is a request with its place in the batch.
type item[T any] struct {
	index   int
	request request[T]
}

// layers splits a batch into layers of which none has two events of one record: the n-th layer has
// the n-th event of each record. Each is sorted by record, so that two batches lock in the same
// order.
func layers[T any](items []item[T]) (layers [][]item[T]) {
	slices.SortStableFunc(items, byRecord)
	layers = append(layers, make([]item[T], 0, len(items))) // mostly it is the only one
	n := 0
	for i, it := range items {
		if n++; i == 0 || byRecord(items[i-1], it) != 0 {
			n = 0
		}
		if n == len(layers) {
			layers = append(layers, nil)
		}
		layers[n] = append(layers[n], it)
	}
	return layers
}

func byRecord[T any](a, b item[T]) int {
	return cmp.Or(cmp.Compare(a.request.machine.Name(), b.request.machine.Name()), cmp.Compare(a.request.id, b.request.id))
}

// fireOnItsOwn fires an event of a batch by itself. The context of the batch may have ended.
func (e *Engine[T]) fireOnItsOwn(ctx context.Context, r request[T]) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	return e.fire(ctx, r)
}

// fireRound applies a round in one transaction and fills in the outcomes; a
// rejection is an outcome too. An error leaves the outcomes as they are.
func (e *Engine[T]) fireRound(ctx context.Context, round []item[T], outcomes []Outcome) error {
	results := make([]Outcome, len(round))
	err := e.inTxn(ctx, func(t *txn[T]) error {
		t.shortLockWait = len(round) > 1
		requests := make([]request[T], len(round))
		for i, it := range round {
			requests[i] = it.request
		}
		rows, err := e.load(ctx, t.tx, requests...)
		if err != nil {
			return err
		}
		t.expect(len(requests))
		for i, r := range requests {
			p, err := e.decide(r, rows[i])
			if err != nil {
				results[i] = Outcome{Err: describe(Firing{Machine: r.machine.Name(), ID: r.id}, err)}
				continue
			}
			results[i] = p.outcome
			t.addNew(p)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, it := range round {
		if results[i].Err != nil {
			e.countRefusal(it.request, results[i].Err)
		}
		outcomes[it.index] = results[i]
	}
	return nil
}
