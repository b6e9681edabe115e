package registration

import (
	"context"
	"errors"
	"iter"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// records are the registrations, as the rest of the service reads them.
type records struct{ db *database.DB }

// last returns the id of the last registration of a node: ErrUnknownNode if there is none.
func (rs *records) last(ctx context.Context, node string) (id string, err error) {
	r, err := rs.db.Current(ctx, node)
	if err == nil && r.ID == "" {
		return "", ErrUnknownNode
	}
	return r.ID, err
}

// Record reads a registration.
func (rs *records) Record(ctx context.Context, id string) (*registration.Record, error) {
	found, err := rs.get(ctx, id)
	if err != nil {
		return &registration.Record{}, err
	}
	return found.Record, nil
}

// get reads the registration whose id is text, as SQL has it.
func (rs *records) get(ctx context.Context, id string) (client.Snapshot[*registration.Record], error) {
	parsed, err := fsm.ParseUUID(id)
	if err != nil {
		return client.Snapshot[*registration.Record]{}, err
	}
	return rs.db.Records().Get(ctx, parsed)
}

// All reads the registrations in a state, without those that can't be read.
func (rs *records) All(ctx context.Context, state registration.State) iter.Seq2[*registration.Record, error] {
	return func(yield func(*registration.Record, error) bool) {
		for found, err := range rs.db.Records().All(ctx, state) {
			if err != nil {
				yield(nil, err)
				return
			}
			if found.Err == nil && !yield(found.Record, nil) {
				return
			}
		}
	}
}

// Tell fires an event that the daemon itself found out about, under the correlation id of
// the registration. It returns nil if the record has moved on meanwhile.
func (rs *records) Tell(ctx context.Context, r *registration.Record, event registration.Payload, by registration.Actor) error {
	correlation, err := rs.db.Correlation(ctx, r.RegistrationID.String())
	if err != nil {
		return err
	}
	_, err = rs.db.Records().Fire(ctx, r.RegistrationID, event, by, engine.Correlation(correlation))
	var refused *fsm.Rejection
	if errors.As(err, &refused) || errors.Is(err, engine.ErrConflict) {
		return nil
	}
	return err
}

// RetryWithdrawals has withdrawals that were given up tried again: what is
// behind them under the ordering key of their registration waits for them.
func (rs *records) RetryWithdrawals(ctx context.Context) error {
	return rs.db.RequeueAll(ctx, "consul.withdraw", "collector", "the service may still be advertised")
}
