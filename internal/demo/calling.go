package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/internal/demo/service"
)

// calling lets the callers of one machine go round until nothing is left to fire.
type calling struct {
	app     *app
	machine service.Machine
	callers service.Callers
	records int // that they open

	mu     sync.Mutex
	opened int
	seen   service.Seen // in the last round; Refused: in all rounds
}

// state returns what the last round saw, and how many records are open.
func (c *calling) state() (seen service.Seen, opened int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen, c.opened
}

// done reports whether every record is open and its callers want nothing more.
func (c *calling) done() bool {
	seen, opened := c.state()
	return (c.machine.Started || opened == c.records) && seen.Resting == seen.Records
}

// serve goes on until ctx ends, or until every record is at rest and no other machine can start
// more. A new record is opened every round. On a busy machine rounds are rarer, so that the worker
// gets its share.
func (c *calling) serve(ctx context.Context) error {
	const pause = 80 * time.Millisecond
	for ctx.Err() == nil && (c.machine.Started || !c.done()) {
		began := time.Now()
		if err := c.round(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("callers of %s: %w", c.machine.Name(), err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(pause, 2*time.Since(began))):
		}
	}
	return nil
}

// round opens a record, if one is left to open, and lets the callers fire at all.
func (c *calling) round(ctx context.Context) error {
	_, opened := c.state()
	if !c.machine.Started && opened < c.records {
		if err := c.callers.Open(ctx, opened, c.app.clock.Now()); err != nil {
			return err
		}
		opened++
	}
	seen, err := c.callers.Round(ctx, c.app.clock.Now())
	c.mu.Lock()
	defer c.mu.Unlock()
	seen.Refused += c.seen.Refused
	c.opened, c.seen = opened, seen
	return err
}
