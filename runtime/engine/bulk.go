package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Bulk is what became of a call for many messages or records.
type Bulk struct {
	Done   int              // how many it was carried out for
	Failed map[string]error // the others, by the id of the message or record
}

// add notes what became of one of them. An error that the next one would meet too is
// returned instead.
func (b *Bulk) add(ctx context.Context, id string, err error) error {
	if err == nil {
		b.Done++
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, store.ErrStore) {
		return err
	}
	if b.Failed == nil {
		b.Failed = map[string]error{}
	}
	b.Failed[id] = err
	return nil
}

// Err returns what Failed holds as one error, nil for nothing.
func (b Bulk) Err() error {
	var all []error
	for _, id := range slices.Sorted(maps.Keys(b.Failed)) {
		all = append(all, b.Failed[id])
	}
	return errors.Join(all...)
}

// RequeueAll requeues every dead letter that f lets through, oldest first, each in a
// transaction of its own. One that fails, say since another operator was first, is
// noted in Bulk.Failed and the others go on. The error is that of ctx or of the store:
// what was done up to there is in Bulk, and the call can be made again.
func (e *Engine[T]) RequeueAll(ctx context.Context, f store.Filter, who, why string) (Bulk, error) {
	return e.resolveAll(ctx, "requeue all", f, func(id string) error { return e.Requeue(ctx, id, who, why) })
}

// DiscardAll discards every dead letter that f lets through, as RequeueAll does.
func (e *Engine[T]) DiscardAll(ctx context.Context, f store.Filter, who, why string) (Bulk, error) {
	return e.resolveAll(ctx, "discard all", f, func(id string) error { return e.Discard(ctx, id, who, why) })
}

// resolveAll calls resolve for every dead letter, page by page. A message keeps its
// place when it is given up again meanwhile, so none is met twice.
func (e *Engine[T]) resolveAll(ctx context.Context, what string, f store.Filter, resolve func(messageID string) error) (did Bulk, err error) {
	if err := checkNested(ctx); err != nil {
		return did, err
	}
	q := store.Read{Kind: store.ReadDeadLetters, Filter: f, Limit: pageLimit}
	for {
		page, err := e.store.Read(ctx, q)
		if err != nil {
			return did, fmt.Errorf("%s: %w", what, err)
		}
		if len(page.Messages) == 0 {
			return did, nil
		}
		for i := range page.Messages {
			q.AfterMessage = &page.Messages[i]
			id := q.AfterMessage.MessageID
			if err := did.add(ctx, id, resolve(id)); err != nil {
				return did, fmt.Errorf("%s: %w", what, err)
			}
		}
	}
}

// ResumeAll resumes every record of a machine in a state, or in any if state is "", by
// ascending id. A record that fails is noted in Bulk.Failed and the others go on. The
// error is that of ctx or of the store, and the call can be made again.
func (e *Engine[T]) ResumeAll(ctx context.Context, machine, state, who, why string) (did Bulk, err error) {
	if err := checkNested(ctx); err != nil {
		return did, err
	}
	for after := ""; ; {
		records, err := e.List(ctx, machine, state, after, pageLimit)
		if err != nil {
			return did, fmt.Errorf("resume all: %w", err)
		}
		if len(records) == 0 {
			return did, nil
		}
		for _, record := range records {
			after = record.ID
			_, err := e.Resume(ctx, machine, record.ID, who, why)
			if err := did.add(ctx, record.ID, err); err != nil {
				return did, fmt.Errorf("resume all: %w", err)
			}
		}
	}
}
