package registration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// atOnce has done in the transaction that begins a registration what needs nothing
// but its database: the payload is judged, and the row of the node is written. What
// meets with trouble there is left to the handlers.
func (s *Server) atOnce() error {
	if s.options.Apart {
		return nil
	}
	if err := s.db.inline("validate_payload", s.validateAtOnce); err != nil {
		return err
	}
	if s.options.Registry != nil { // it may be anywhere
		return nil
	}
	return s.db.inline("postgres.upsert_registration", s.upsertAtOnce)
}

// validateAtOnce is ValidatePayload for registrations that nobody sees yet: who asks
// about one of their service ids waits, and they give way to all that they see.
func (s *Server) validateAtOnce(ctx context.Context, q querier, effects []fsm.Dispatch) ([]*fsm.Event, error) {
	answers := make([]*fsm.Event, len(effects))
	first := map[string]int{} // of several that want the same, the others ask again
	var wanted []claim
	for i, d := range effects {
		e, err := fsm.PayloadOf[registration.ValidatePayloadEffect](d, "node_id")
		if err != nil {
			return nil, err
		}
		if p := validate(e); p != nil {
			if answers[i], err = fsm.AnswerOf(p.answer()); err != nil {
				return nil, err
			}
			continue
		}
		service := e.ConsulServiceID.V
		if _, twice := first[service]; !twice {
			first[service] = i
			wanted = append(wanted, claim{service, d.Record})
		}
	}
	if len(wanted) == 0 {
		return answers, nil
	}
	slices.SortFunc(wanted, func(a, b claim) int { return strings.Compare(a.service, b.service) }) // two transactions lock in one order
	services := make([]string, len(wanted))
	for i, c := range wanted {
		services[i] = c.service
	}
	if err := s.db.sets().lockNames(ctx, q, services); err != nil {
		return nil, fmt.Errorf("lock the service ids: %w", err)
	}
	nodes, err := s.db.sets().holders(ctx, q, wanted)
	if err != nil {
		return nil, fmt.Errorf("look up the service ids: %w", err)
	}
	for service, i := range first {
		if answers[i], err = fsm.AnswerOf(judged(nodes[service])); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// upsertAtOnce is PostgresUpsertRegistration. A row that was not written is left to
// the handler, which says why.
func (s *Server) upsertAtOnce(ctx context.Context, q querier, effects []fsm.Dispatch) ([]*fsm.Event, error) {
	rows, nodes := make([]Row, len(effects)), make([]string, len(effects))
	for i, d := range effects {
		e, err := fsm.PayloadOf[registration.PostgresUpsertRegistrationEffect](d, "registration_id", "node_id")
		if err != nil {
			return nil, err
		}
		rows[i], nodes[i] = rowOf(d, e), e.NodeID
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.NodeID, b.NodeID) }) // two transactions lock in one order
	written, err := s.db.sets().upsert(ctx, q, rows, s.options.Name, fsm.Instant(s.options.Clock.Now()))
	if err != nil {
		return nil, fmt.Errorf("upsert the rows: %w", err)
	}
	answers := make([]*fsm.Event, len(effects))
	for i, node := range nodes {
		if !written[node] {
			continue
		}
		if answers[i], err = fsm.AnswerOf(registration.PostgresSucceeded{PostgresApplied: true}); err != nil {
			return nil, err
		}
	}
	return answers, nil
}
