package registration

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// together is how many registrations share a transaction at most.
const together = 32

// arrival is a REGISTER on its way to the store. Those that come at the same time
// are stored together.
type arrival struct {
	node  string
	event registration.Register
	call  engine.Call

	outcome database.Outcome
	refused error
}

// store stores an arrival, together with others that come at the same time.
func (g *registrar) store(ctx context.Context, a *arrival) error {
	ctx = context.WithoutCancel(ctx) // of the others
	err := g.arrivals.Do(a.node, a, together, func(all []*arrival) error { return g.register(ctx, all) })
	return cmp.Or(err, a.refused)
}

// register stores arrivals of different nodes in one transaction, patiently: after one
// that was given up no caller knows whether his is stored. One that
// the machine refuses keeps no other from being stored.
func (g *registrar) register(ctx context.Context, all []*arrival) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	slices.SortFunc(all, func(a, b *arrival) int { return strings.Compare(a.node, b.node) }) // two transactions lock in one order
	nodes := make([]string, len(all))
	for i, a := range all {
		nodes[i] = a.node
	}
	last, err := g.db.Last(ctx, nodes)
	if err != nil {
		return err
	}
	return g.db.Transact(ctx, func(ctx context.Context, t database.Tx) error {
		for _, a := range all {
			a.refused = t.Try(func() (err error) {
				a.outcome, err = g.arrive(ctx, t, a, last[a.node])
				return err
			})
			var refused *fsm.Rejection
			if a.refused != nil && !errors.As(a.refused, &refused) && !errors.Is(a.refused, engine.ErrKeyUsed) {
				return a.refused
			}
		}
		return nil
	})
}

// arrive fires REGISTER at the registration that has not ended, or begins one.
func (g *registrar) arrive(ctx context.Context, t database.Tx, a *arrival, last database.Registration) (o database.Outcome, err error) {
	id := last.ID
	if !last.Live {
		if id, err = g.begin(ctx, t, a.node, last.ID, a.call); err != nil {
			return o, err
		}
	}
	o, err = fire(ctx, t.Calls(), id, a.event, a.call)
	var used *engine.KeyError
	if errors.As(err, &used) && used.RecordID != "" && used.Event == a.event.EventName() {
		o, err = fire(ctx, t.Calls(), used.RecordID, a.event, a.call) // the first time was another registration
	}
	return o, err
}

// firer applies events to records, in a transaction of its own or in a given one.
type firer interface {
	Fire(ctx context.Context, id fsm.UUID, event registration.Payload, with ...engine.Option) (database.Outcome, error)
}

// fire applies an event to the registration whose id is text, as SQL has it.
func fire(ctx context.Context, at firer, id string, event registration.Payload, call engine.Call) (database.Outcome, error) {
	parsed, err := fsm.ParseUUID(id)
	if err != nil {
		return database.Outcome{}, err
	}
	return at.Fire(ctx, parsed, event, call)
}

// begin creates the record of a node's next registration; a key that did so
// before names the record that it made.
func (g *registrar) begin(ctx context.Context, t database.Tx, node, last string, call engine.Call) (string, error) {
	next, err := nextID(last, g.clock.Now())
	if err != nil {
		return "", err
	}
	id := next.String()
	if call.IdempotencyKey != "" {
		call.IdempotencyKey += " create"
	}
	o, err := t.Calls().Create(ctx, next, registration.Create{NodeID: node}, call)
	if err != nil || o.Replayed {
		return o.ID, err
	}
	return id, t.Assign(id, g.daemon)
}
