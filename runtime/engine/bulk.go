package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Bulk is the result of a call for many messages or records.
type Bulk struct {
	Done   int              // how many it was carried out for
	Failed map[string]error // the others, by the id of the message or record
}

// add notes the result for one message or record. It returns an error that the next one would meet
// too.
func (b *Bulk) add(ctx context.Context, id string, err error) error {
	if err == nil {
		b.Done++
		return nil
	}
	if ctx.Err() != nil || errors.Is(err, ErrStore) {
		return err
	}
	if b.Failed == nil {
		b.Failed = map[string]error{}
	}
	b.Failed[id] = err
	return nil
}

// Err joins the errors of Failed. It returns nil if there are none.
func (b Bulk) Err() error {
	var all []error
	for _, id := range slices.Sorted(maps.Keys(b.Failed)) {
		all = append(all, b.Failed[id])
	}
	return errors.Join(all...)
}

// RequeueAll requeues every dead letter that matches f, oldest first, each in its own transaction.
// A message that fails, say because another operator was first, is in Bulk.Failed. The returned
// error is that of ctx or of the store; Bulk has what was done until then, and the call can be
// repeated.
func (e *Engine[T]) RequeueAll(ctx context.Context, f Filter, who, why string) (Bulk, error) {
	return e.resolveAll(ctx, "requeue all", f, func(id string) error { return e.Requeue(ctx, id, who, why) })
}

// DiscardAll discards every dead letter that matches f, as RequeueAll requeues them.
func (e *Engine[T]) DiscardAll(ctx context.Context, f Filter, who, why string) (Bulk, error) {
	return e.resolveAll(ctx, "discard all", f, func(id string) error { return e.Discard(ctx, id, who, why) })
}

// resolveAll calls resolve for every dead letter, page by page. A message that becomes a dead
// letter again keeps its place, so none is met twice.
func (e *Engine[T]) resolveAll(ctx context.Context, what string, f Filter, resolve func(messageID string) error) (did Bulk, err error) {
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

// ResumeAll resumes the records of a machine by ascending id. A state other than "" narrows them
// to it. A record that fails is in Bulk.Failed. The returned error is that of ctx or of the store,
// and the call can be repeated.
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
