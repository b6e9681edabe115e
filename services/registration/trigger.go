package registration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/groupcommit"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// Call is what a caller says about a trigger.
type Call struct {
	By string // who fires; "": operator
	// Key makes firing again safe: the same key answers like the first time.
	Key string
	// Correlation names what the trigger sets off. "": that of the registration,
	// or a new one.
	Correlation string
	// If, for triggers at a registration, is what the caller has seen of it: as
	// anything else, nothing is fired, and the error is a *MatchError. nil: whatever it
	// is. A key that was accepted answers all the same.
	If *Seen
}

// Accepted is a trigger that was accepted.
type Accepted struct {
	NodeID         string `json:"node_id"`
	RegistrationID string `json:"registration_id"`
	CorrelationID  string `json:"correlation_id"`
	State          string `json:"state"` // to which the trigger led
	Version        int64  `json:"version"`
	transition     string
}

// ErrUnknownNode says that the node was never registered.
var ErrUnknownNode = errors.New("no registration of this node")

// ErrExhausted says that a retry was refused because the limit is reached; the
// registration has failed by it (document 001, Retry Limit Enforcement).
var ErrExhausted = errors.New("retry limit is reached")

// ErrCorrelation says that a correlation id is no UUID.
var ErrCorrelation = errors.New("correlation id is not a UUID")

// registrar begins registrations, and fires triggers at them.
type registrar struct {
	db       *database.DB
	daemon   string
	clock    engine.Clock
	arrivals groupcommit.Queue[string, *arrival]
}

// Register begins the registration of a node, with a registration payload as
// document 001 has it. A node has one registration that has not ended; if there
// is one, the machine answers what REGISTER means to it.
//
// Errors: ErrTooLarge, ErrPayload, ErrCorrelation; a *fsm.Rejection; those of
// the engine. Nothing has changed then.
func (g *registrar) Register(ctx context.Context, node string, payload json.RawMessage, c Call) (Accepted, error) {
	if !Plain(node) {
		return Accepted{}, fmt.Errorf("%w: node_id is not a text of 1 to %d bytes without control characters", ErrPayload, maxText)
	}
	event, err := flatten(node, payload)
	if err != nil {
		return Accepted{}, err
	}
	call, err := c.call()
	if err != nil {
		return Accepted{}, err
	}
	if call.Correlation == "" { // one for the creation and for what follows
		call.Correlation = newID(g.clock.Now()).String()
	}
	a := &arrival{node: node, event: event, call: call}
	const races = 3 // with others that register this node at this moment
	for range races {
		if err = g.store(ctx, a); !errors.Is(err, engine.ErrExists) && !errors.Is(err, engine.ErrConflict) {
			break
		}
	}
	return g.accepted(ctx, a.outcome, err)
}

// Trigger fires an event of an operator at the last registration of a node:
// Retry, RetryPostgres, Abandon or Deregister.
//
// Errors: ErrUnknownNode, ErrExhausted, ErrCorrelation; a *MatchError; a
// *fsm.Rejection; those of the engine.
func (g *registrar) Trigger(ctx context.Context, node string, event registration.Payload, c Call) (Accepted, error) {
	call, err := c.call()
	if err != nil {
		return Accepted{}, err
	}
	last, err := g.db.Current(ctx, node)
	if err != nil {
		return Accepted{}, err
	}
	id := last.ID
	if id == "" {
		return Accepted{}, ErrUnknownNode
	}
	if call.Correlation == "" {
		if call.Correlation, err = g.db.Correlation(ctx, id); err != nil {
			return Accepted{}, err
		}
	}
	if c.If != nil && c.If.RegistrationID != id {
		call.IfVersion = math.MaxInt64 // it has none like that
	}
	o, err := fire(ctx, g.db.Records(), id, event, call)
	var used *engine.KeyError
	if errors.As(err, &used) && used.RecordID != "" && used.Event == event.EventName() {
		o, err = fire(ctx, g.db.Records(), used.RecordID, event, call)
	}
	var lost *engine.VersionError
	if errors.As(err, &lost) {
		err = &MatchError{Node: node, Now: Seen{id, lost.Version}, State: lost.State, Changed: c.If.RegistrationID != id}
	}
	return g.accepted(ctx, o, err)
}

// Correct replaces the payload of a registration whose validation failed.
func (g *registrar) Correct(ctx context.Context, node string, payload json.RawMessage, c Call) (Accepted, error) {
	event, err := flatten(node, payload)
	if err != nil {
		return Accepted{}, err
	}
	if !event.Payload.IsSet {
		return Accepted{}, fmt.Errorf("%w: there is none", ErrPayload)
	}
	return g.Trigger(ctx, node, corrected(event), c)
}

// call is a Call as the engine takes it.
func (c Call) call() (engine.Call, error) {
	if c.Correlation != "" {
		if _, err := fsm.ParseUUID(c.Correlation); err != nil {
			return engine.Call{}, fmt.Errorf("%w: %s", ErrCorrelation, fsm.Message(c.Correlation, 100))
		}
	}
	by := c.By
	if by == "" {
		by = "operator"
	}
	call := engine.Call{By: registration.ByExternal(by).Caller(), IdempotencyKey: c.Key, Correlation: c.Correlation}
	if c.If != nil {
		call.IfVersion = c.If.Version
	}
	return call, nil
}

// accepted tells of an outcome. A replay is told as its first time was.
func (g *registrar) accepted(ctx context.Context, o database.Outcome, err error) (Accepted, error) {
	if err != nil {
		return Accepted{}, err
	}
	r := o.Record
	a := Accepted{NodeID: r.NodeID, RegistrationID: r.RegistrationID.String(), CorrelationID: o.Correlation, State: r.State.String(), Version: o.Version}
	if len(o.Steps) > 0 {
		a.transition = o.Steps[len(o.Steps)-1].Transition
	}
	if o.Replayed {
		steps, err := g.db.Records().History(ctx, r.RegistrationID, o.Version-1, 1)
		if err != nil || len(steps) == 0 {
			return Accepted{}, errors.Join(err, errors.New("the first time is not in the history"))
		}
		a.State, a.CorrelationID, a.transition = steps[0].Row.To, steps[0].Correlation, steps[0].Transition
	}
	if a.transition == "retry_refused" || a.transition == "retry_exhausted" {
		return a, ErrExhausted
	}
	return a, nil
}
