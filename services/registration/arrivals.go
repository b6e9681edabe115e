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
)

// together is how many registrations share a transaction at most.
const together = 32

// arrival is a REGISTER on its way to the store. Those that come at the same time
// are stored together.
type arrival struct {
	node  string
	event registration.Register
	call  engine.Call

	outcome outcome
	refused error
}

// store stores an arrival, together with others that come at the same time.
func (s *Server) store(ctx context.Context, a *arrival) error {
	ctx = context.WithoutCancel(ctx) // of the others
	err := s.arrivals.Do(a.node, a, together, func(all []*arrival) error { return s.register(ctx, all) })
	return cmp.Or(err, a.refused)
}

// register stores arrivals of different nodes in one transaction, patiently: nobody
// knows of an arrival whose transaction was given up whether it is stored. One that
// the machine refuses keeps no other from being stored.
func (s *Server) register(ctx context.Context, all []*arrival) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	slices.SortFunc(all, func(a, b *arrival) int { return strings.Compare(a.node, b.node) }) // two transactions lock in one order
	nodes := make([]string, len(all))
	for i, a := range all {
		nodes[i] = a.node
	}
	var last map[string]registered
	err := s.db.read(ctx, func(q querier) (err error) {
		last, err = s.db.sets().last(ctx, q, nodes)
		return err
	})
	if err != nil {
		return err
	}
	return s.db.within(ctx, func(ctx context.Context, t transaction) error {
		for _, a := range all {
			a.refused = t.try(func() (err error) {
				a.outcome, err = s.arrive(ctx, t, a, last[a.node])
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

// registered is a registration of a node.
type registered struct {
	id   string // "": there is none
	live bool   // it has not ended
}

// arrive fires REGISTER at the registration that has not ended, or begins one.
func (s *Server) arrive(ctx context.Context, t transaction, a *arrival, last registered) (o outcome, err error) {
	id := last.id
	if !last.live {
		if id, err = s.begin(ctx, t, a.node, last.id, a.call); err != nil {
			return o, err
		}
	}
	o, err = fire(ctx, t.calls(), id, a.event, a.call)
	var used *engine.KeyError
	if errors.As(err, &used) && used.RecordID != "" && used.Event == a.event.EventName() {
		o, err = fire(ctx, t.calls(), used.RecordID, a.event, a.call) // the first time was another registration
	}
	return o, err
}

// firer applies events to records, in a transaction of its own or in a given one.
type firer interface {
	Fire(ctx context.Context, id fsm.UUID, event registration.Payload, with ...engine.Option) (outcome, error)
}

// fire applies an event to the registration whose id is text, as SQL has it.
func fire(ctx context.Context, at firer, id string, event registration.Payload, call engine.Call) (outcome, error) {
	parsed, err := fsm.ParseUUID(id)
	if err != nil {
		return outcome{}, err
	}
	return at.Fire(ctx, parsed, event, call)
}

// begin creates the record of a node's next registration; a key that did so
// before names the record that it made.
func (s *Server) begin(ctx context.Context, t transaction, node, last string, call engine.Call) (string, error) {
	next, err := nextID(last, s.options.Clock.Now())
	if err != nil {
		return "", err
	}
	id := next.String()
	if call.IdempotencyKey != "" {
		call.IdempotencyKey += " create"
	}
	o, err := t.calls().Create(ctx, next, registration.Create{NodeID: node}, call)
	if err != nil || o.Replayed {
		return o.ID, err
	}
	return id, t.write(id, fsm.TableWrite{
		Table: "registration_daemons", Op: fsm.EffectUpsert,
		Key: []fsm.Column{{Name: "registration_id", Value: id}}, Columns: []fsm.Column{{Name: "daemon", Value: s.options.Name}},
	})
}
