package posts

import (
	"context"
	"errors"
	"fmt"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Deals are the deals that posts belong to: a deal.Client.
type Deals interface {
	Get(ctx context.Context, id fsm.UUID) (client.Snapshot[*deal.Record], error)
	AutoPublished(ctx context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error)
	VerificationPassed(ctx context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error)
	VerificationFailed(ctx context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error)
}

// fire is a method of Deals that fires an event.
type fire func(ctx context.Context, id fsm.UUID, with ...client.Option) (client.Outcome[*deal.Record], error)

// fireOnce fires an event at the deal of a post. However often it is fired, its key lets the deal take it
// once. A deal that refuses it has moved on: that is no error, and refusal says so.
func fireOnce(ctx context.Context, f fire, event deal.Event, p Post) (refusal string, err error) {
	_, err = f(ctx, p.Deal, deal.BySystem(), client.Key("post:"+p.key()+":"+event.String()))
	var rejection *fsm.Rejection
	switch {
	case errors.As(err, &rejection), errors.Is(err, engine.ErrNotFound):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("fire %s at deal %s: %w", event, p.Deal, err)
	}
	return "", nil
}

// left returns why a deal does not wait for its post in a state, "" if it does.
func left(ctx context.Context, deals Deals, p Post, waits deal.State) (why string, err error) {
	found, err := deals.Get(ctx, p.Deal)
	switch {
	case errors.Is(err, engine.ErrNotFound):
		return err.Error(), nil
	case err != nil:
		return "", fmt.Errorf("read deal %s: %w", p.Deal, err)
	case found.Record.State != waits:
		return fmt.Sprintf("the deal is in %s, and not in %s", found.Record.State, waits), nil
	}
	return "", nil
}
