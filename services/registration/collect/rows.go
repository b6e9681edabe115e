package collect

import (
	"context"
	"errors"
	"slices"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// collectRows removes rows whose nodes were not heard of for too long. Where the
// registration has not ended it is ended first, and so is its service: the row
// of a service that may still be advertised stays.
func (g *run) collectRows(ctx context.Context) error {
	before := g.Clock.Now().Add(-g.Limits.StaleAfter).UTC()
	var all error
	for last := (database.Stale{}); ; {
		rows, err := g.Rows.Stale(ctx, before, last, g.Limits.Batch)
		if err != nil {
			return errors.Join(all, err)
		}
		var ready []database.Stale
		for _, row := range rows {
			last = row
			ended, err := g.endStale(ctx, row)
			if ended {
				ready = append(ready, row)
			}
			all = errors.Join(all, err)
		}
		gone, err := g.Rows.Collect(ctx, ready, before)
		all = errors.Join(all, err)
		for _, row := range ready {
			if err != nil || slices.Contains(gone, row.Key) {
				g.cleaned(gcRows, staleRow(row), err)
			}
		}
		for _, k := range gone {
			g.done.Rows = append(g.done.Rows, k.NodeID)
		}
		if len(rows) < g.Limits.Batch {
			return all
		}
	}
}

func staleRow(row database.Stale) orphan {
	return orphan{resourceRow, byStaleHeartbeat, row.NodeID, row.Environment, row.LastHeartbeat}
}

// endStale reports whether a stale row can be removed: its registration has
// ended and its service is gone.
func (g *run) endStale(ctx context.Context, row database.Stale) (bool, error) {
	r, there, err := g.record(ctx, row.RegistrationID)
	if err != nil {
		return false, err
	}
	if there && works(r.State) {
		return false, nil
	}
	g.detected(staleRow(row))
	if !there { // the row was written by hand
		return true, nil
	}
	ended, err := g.end(ctx, r)
	if err != nil || !ended {
		g.attended(staleRow(row), err)
		return false, err
	}
	if err := g.Registrations.Unadvertise(ctx, r); err != nil {
		g.cleaned(gcRows, staleRow(row), err)
		return false, err
	}
	return true, nil
}

// works reports whether a registration is at work, for whichever daemon goes on
// with it: what it has is no orphan.
func works(state registration.State) bool {
	switch state {
	case registration.Registered, registration.PartialRegistered, registration.Failed, registration.Deregistered:
		return false
	case registration.Unregistered, registration.Validating, registration.RegisteringPostgres, registration.PostgresRegistered,
		registration.RegisteringConsul, registration.Deregistering:
		return true
	}
	return true
}
