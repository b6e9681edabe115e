package registration

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// inline carries out effects in the transaction that begins a registration, as far as
// they need nothing but its database: the payload is judged, and the row of the node is
// written. What fails there is left to the handlers.
type inline struct {
	daemon string
	clock  engine.Clock
}

// install has db carry out the effects inline: the row only if it is beside the records.
func (in inline) install(db *database.DB, rowsBeside bool) error {
	if err := db.Inline("validate_payload", in.validatePayload); err != nil || !rowsBeside {
		return err
	}
	return db.Inline("postgres.upsert_registration", in.upsertRows)
}

// validatePayload is ValidatePayload for registrations that no query sees yet. Queries
// about one of their service ids wait, and they give way to all that they see.
func (inline) validatePayload(ctx context.Context, tx database.InlineTx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
	answers := make([]*fsm.Event, len(effects))
	first := map[string]int{} // of several that want the same, the others ask again
	var wanted []database.Claim
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
			wanted = append(wanted, database.Claim{Service: service, Registration: d.Record})
		}
	}
	if len(wanted) == 0 {
		return answers, nil
	}
	slices.SortFunc(wanted, func(a, b database.Claim) int { return strings.Compare(a.Service, b.Service) }) // two transactions lock in one order
	services := make([]string, len(wanted))
	for i, c := range wanted {
		services[i] = c.Service
	}
	if err := tx.LockNames(ctx, services); err != nil {
		return nil, fmt.Errorf("lock the service ids: %w", err)
	}
	nodes, err := tx.Holders(ctx, wanted)
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

// upsertRows is PostgresUpsertRegistration. A row that was not written is left to
// the handler, which says why.
func (in inline) upsertRows(ctx context.Context, tx database.InlineTx, effects []fsm.Dispatch) ([]*fsm.Event, error) {
	rows, nodes := make([]Row, len(effects)), make([]string, len(effects))
	for i, d := range effects {
		e, err := fsm.PayloadOf[registration.PostgresUpsertRegistrationEffect](d, "registration_id", "node_id")
		if err != nil {
			return nil, err
		}
		rows[i], nodes[i] = rowOf(d, e), e.NodeID
	}
	slices.SortFunc(rows, func(a, b Row) int { return strings.Compare(a.NodeID, b.NodeID) }) // two transactions lock in one order
	written, err := tx.Upsert(ctx, rows, in.daemon, fsm.Instant(in.clock.Now()))
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
