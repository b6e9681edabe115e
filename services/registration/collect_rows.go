package registration

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/generated/registration"
)

// collectRows removes rows whose nodes were not heard of for too long. Where the
// registration has not ended it is ended first, and so is its service: the row
// of a service that may still be advertised stays.
func (s *Server) collectRows(ctx context.Context, c *Collected) error {
	before := s.options.Clock.Now().Add(-s.options.Collect.StaleAfter).UTC()
	var all error
	for last := (Stale{}); ; {
		rows, err := s.registry.Stale(ctx, before, last, s.options.Collect.Batch)
		if err != nil {
			return errors.Join(all, err)
		}
		var ready []Stale
		for _, row := range rows {
			last = row
			ended, err := s.endStale(ctx, row, c)
			if ended {
				ready = append(ready, row)
			}
			all = errors.Join(all, err)
		}
		gone, err := s.registry.Collect(ctx, ready, before)
		all = errors.Join(all, err)
		for _, row := range ready {
			if err != nil || contains(gone, row.Key) {
				s.cleaned(gcRows, staleRow(row), err)
			}
		}
		for _, k := range gone {
			c.Rows = append(c.Rows, k.NodeID)
		}
		if len(rows) < s.options.Collect.Batch {
			return all
		}
	}
}

func staleRow(row Stale) orphan {
	return orphan{resourceRow, byStaleHeartbeat, row.NodeID, row.Environment, row.LastHeartbeat}
}

func contains(keys []Key, k Key) bool {
	for _, other := range keys {
		if other == k {
			return true
		}
	}
	return false
}

// endStale reports whether a stale row can be removed: its registration has
// ended and its service is gone.
func (s *Server) endStale(ctx context.Context, row Stale, c *Collected) (bool, error) {
	r, there, err := s.last(ctx, row.RegistrationID)
	if err != nil {
		return false, err
	}
	if there && works(r.State) {
		return false, nil
	}
	s.detected(staleRow(row))
	if !there { // somebody wrote it by hand
		return true, nil
	}
	ended, err := s.end(ctx, r, c)
	if err != nil || !ended {
		s.attended(staleRow(row), err)
		return false, err
	}
	if err := s.unadvertise(ctx, r); err != nil {
		s.cleaned(gcRows, staleRow(row), err)
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

// unadvertise makes sure that a registration has no service. Without Consul that
// is so if none was ever confirmed.
func (s *Server) unadvertise(ctx context.Context, r *registration.Record) error {
	if !r.ConsulServiceID.IsSet || !s.Advertises() && !r.ConsulApplied {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.options.AttemptTimeout)
	defer cancel()
	return s.discovery.Deregister(ctx, r.ConsulServiceID.V, r.RegistrationID.String())
}
