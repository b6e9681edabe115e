package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fsmgen/fsmgen/internal/demo/service"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// board is what the customers of a machine have seen.
type board struct {
	opened, resting, records int
	transitions              int64
	refused                  int
	restless                 []string // the records that are not at rest, and their states
}

// customers fire the events of one machine's records, all records at once. They
// ask the database again and again what a record is at.
type customers struct {
	stage   *stage
	role    service.Role
	place   int // of the role in the cast
	records int

	numbers map[string]int   // id to number of the record
	tried   map[string]int64 // id to the version at which the wrong event was fired

	mu    sync.Mutex
	board board
}

func newCustomers(st *stage, place, records int) *customers {
	return &customers{stage: st, role: st.cast[place], place: place, records: records, numbers: map[string]int{}, tried: map[string]int64{}}
}

// name is that of the machine.
func (c *customers) name() string { return c.role.Machine.Name() }

// seen returns the board.
func (c *customers) seen() board {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.board
}

// done reports whether every record is opened and nobody wants more of it.
func (b board) done(c *customers) bool {
	return (c.role.Open == nil || b.opened == c.records) && b.resting == b.records
}

// serve goes on until ctx ends, or until every record is at rest and no other
// machine can start more. A new record is opened every round. On a busy machine
// rounds are rarer, so that the worker gets its share.
func (c *customers) serve(ctx context.Context) error {
	const pause = 80 * time.Millisecond
	for ctx.Err() == nil && (c.role.Open == nil || !c.board.done(c)) {
		began := time.Now()
		if c.role.Open != nil && c.board.opened < c.records {
			if err := c.open(ctx, c.board.opened); err != nil {
				return c.ended(ctx, err)
			}
		}
		if err := c.round(ctx); err != nil {
			return c.ended(ctx, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(pause, 2*time.Since(began))):
		}
	}
	return nil
}

// ended takes no notice of errors that only say that ctx has ended.
func (c *customers) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	return fmt.Errorf("customers of %s: %w", c.name(), err)
}

// open creates record n. The key makes it safe to try again.
func (c *customers) open(ctx context.Context, n int) error {
	opening, err := c.role.Open(n, c.stage.clock.Now())
	if err != nil {
		return err
	}
	id := service.ID(c.place, n)
	_, err = c.stage.engine.Create(ctx, c.name(), id, opening.Event, engine.Call{By: opening.By, IdempotencyKey: "open " + id})
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.numbers[id] = n
	c.board.opened++
	return nil
}

// round looks at every record and does what its customer wants now.
func (c *customers) round(ctx context.Context) error {
	list, err := c.stage.engine.List(ctx, c.name(), "", "", 0)
	if err != nil {
		return err
	}
	seen := board{records: len(list)}
	var going sync.WaitGroup
	failures := make(chan error, len(list))
	for _, s := range list {
		seen.transitions += s.Version
		move, err := c.next(s)
		if err != nil {
			return err
		}
		if move.Rest {
			seen.resting++
			continue
		}
		seen.restless = append(seen.restless, fmt.Sprintf("%s %s in %s", c.name(), s.ID, s.Record.StateName()))
		going.Go(func() { failures <- c.act(ctx, s, move) })
	}
	going.Wait()
	close(failures)
	for failure := range failures {
		err = errors.Join(err, failure)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	seen.opened, seen.refused = c.board.opened, c.board.refused
	c.board = seen
	return err
}

func (c *customers) next(s engine.Snapshot) (service.Move, error) {
	if s.Err != nil {
		return service.Move{}, s.Err
	}
	return c.role.Next(s.Record, service.Point{N: c.numbers[s.ID], Version: s.Version, Now: c.stage.clock.Now()})
}

// act fires what a move says. The key names the version that the customer saw,
// so that the same move counts once however often it is made.
func (c *customers) act(ctx context.Context, s engine.Snapshot, move service.Move) error {
	if move.Wrong != nil && c.firstTime(s) {
		_, err := c.stage.engine.Fire(ctx, c.name(), s.ID, move.Wrong, engine.Call{By: move.By})
		if err == nil {
			return fmt.Errorf("%s %s: %s in %s should be refused and was accepted", c.name(), s.ID, move.Wrong.EventName(), s.Record.StateName())
		}
		if err := c.refusal(err); err != nil {
			return err
		}
	}
	if move.Event == nil {
		return nil
	}
	key := fmt.Sprintf("%s at %d", s.ID, s.Version)
	_, err := c.stage.engine.Fire(ctx, c.name(), s.ID, move.Event, engine.Call{By: move.By, IdempotencyKey: key})
	return c.refusal(err)
}

func (c *customers) firstTime(s engine.Snapshot) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.tried[s.ID] != s.Version
	c.tried[s.ID] = s.Version
	return first
}

// refusal counts what the machine refused. A conflict means that the worker was
// first: the next round sees what is there now.
func (c *customers) refusal(err error) error {
	var x *fsm.Rejection
	if errors.As(err, &x) {
		c.mu.Lock()
		c.board.refused++
		c.mu.Unlock()
		return nil
	}
	if errors.Is(err, engine.ErrConflict) {
		return nil
	}
	return err
}
