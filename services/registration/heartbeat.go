package registration

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// held is a registration that has not ended, of a node of this daemon.
type held struct {
	Key
	state       registration.State
	ttl         time.Duration
	correlation string
}

// Heartbeat says once for each node of this daemon that it lives: in its row
// and, if it is registered, to Consul. A service that Consul has lost is
// registered again: the row is the truth. It returns when the next heartbeat is
// due, a third of the shortest TTL later.
func (s *Server) Heartbeat(ctx context.Context) (time.Duration, error) {
	const beats = 3 // to a TTL: one may fail, and one may be late
	nodes, err := s.held(ctx)
	if err != nil {
		return s.options.TTL / beats, err
	}
	ttl := s.options.TTL
	keys := make([]Key, len(nodes))
	for i, n := range nodes {
		keys[i], ttl = n.Key, min(ttl, n.ttl)
	}
	const batch = 100
	for part := range slices.Chunk(keys, batch) {
		err = errors.Join(err, s.registry.Heartbeat(ctx, part))
	}
	if s.Advertises() {
		err = errors.Join(err, s.pass(ctx, nodes))
	}
	return ttl / beats, err
}

// pass heartbeats to Consul. If that is not there, it is not asked for each.
func (s *Server) pass(ctx context.Context, nodes []held) error {
	var all error
	for _, n := range nodes {
		if n.state != registration.Registered {
			continue
		}
		err := s.passOne(discovery.WithCorrelation(ctx, n.correlation), n)
		if err != nil {
			s.log.WarnContext(ctx, "no heartbeat", "node", n.NodeID, "registration", n.RegistrationID, "error", err, "correlation", n.correlation)
			all = errors.Join(all, err)
		}
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrUnreachable) {
			return all
		}
	}
	return all
}

func (s *Server) passOne(ctx context.Context, n held) error {
	ctx, cancel := context.WithTimeout(ctx, s.options.AttemptTimeout)
	defer cancel()
	err := s.discovery.Heartbeat(ctx, n.RegistrationID)
	if !errors.Is(err, ErrNotAdvertised) {
		return err
	}
	return s.readvertise(ctx, n)
}

// readvertise brings back what Consul has lost, unless the node is on its way
// out. It holds the row: a deregistration that begins meanwhile, and finds nothing
// in Consul to remove, removes the row only when Consul has what it shall have.
func (s *Server) readvertise(ctx context.Context, n held) error {
	return s.registry.Hold(ctx, n.Key, func() error {
		r, err := s.record(ctx, n.RegistrationID)
		if err != nil || r.State != registration.Registered {
			return err
		}
		service := s.advertisement(r)
		if err := errors.Join(s.advertise(ctx, service), s.settle(ctx, service)); err != nil {
			return err
		}
		s.log.WarnContext(ctx, "Consul had lost a service; it is registered again", "node", n.NodeID, "registration", n.RegistrationID, "correlation", n.correlation)
		return nil
	})
}

// settle withdraws a service again unless its registration is still registered: who
// deregistered it meanwhile must not find it. Consul may have it though it has not
// answered in time, so this takes a time of its own.
func (s *Server) settle(ctx context.Context, service Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.options.AttemptTimeout)
	defer cancel()
	r, err := s.record(ctx, service.RegistrationID)
	if err == nil && r.State == registration.Registered {
		return nil
	}
	return errors.Join(err, s.withdraw(ctx, service))
}

// held lists the registrations that this daemon answers for.
func (s *Server) held(ctx context.Context) (out []held, err error) {
	err = s.db.read(ctx, func(q querier) error {
		out = nil
		return q.query(ctx, func(scan scan) error {
			var n held
			var state, check string
			if err := scan(&n.RegistrationID, &n.NodeID, &state, &check, &n.correlation); err != nil {
				return err
			}
			n.state, err = registration.ParseState(state)
			asked := fsm.None[fsm.JSON]()
			if check != "" {
				asked = fsm.Some(fsm.JSON(check))
			}
			if n.ttl, _ = ttlOf(asked, s.options.TTL); n.ttl == 0 { // not valid, and so never advertised
				n.ttl = s.options.TTL
			}
			out = append(out, n)
			return err
		}, `SELECT CAST(r.registration_id AS text), r.node_id, r.state, coalesce(CAST(r.consul_health_check AS text), ''), coalesce(h.correlation_id, '')
			FROM registration_daemons AS d
			JOIN registration_records AS r ON r.registration_id = d.registration_id
			JOIN registration_history AS h ON h.registration_id = d.registration_id AND h.version = 1
			WHERE d.daemon = $1 AND r.state <> 'deregistered' ORDER BY r.node_id`, s.options.Name)
	})
	return out, err
}
