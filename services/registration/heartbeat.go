package registration

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// ownNodes are the nodes of this daemon.
type ownNodes struct {
	daemon     string
	records    *records
	advertiser *advertiser
	log        *slog.Logger
}

// Heartbeat says once for each node of this daemon that it lives: in its row
// and, if it is registered, to Consul. A service that Consul has lost is
// registered again: the row is the truth. It returns when the next heartbeat is
// due, a third of the shortest TTL later.
func (o *ownNodes) Heartbeat(ctx context.Context) (time.Duration, error) {
	const beats = 3 // to a TTL: one may fail, and one may be late
	nodes, err := o.records.db.Held(ctx, o.daemon)
	if err != nil {
		return o.advertiser.ttl / beats, err
	}
	ttl := o.advertiser.ttl
	keys := make([]Key, len(nodes))
	for i, n := range nodes {
		keys[i], ttl = n.Key, min(ttl, o.ttlOf(n))
	}
	const batch = 100
	for part := range slices.Chunk(keys, batch) {
		err = errors.Join(err, o.advertiser.rows.Heartbeat(ctx, part))
	}
	if o.advertiser.catalog != nil {
		err = errors.Join(err, o.pass(ctx, nodes))
	}
	return ttl / beats, err
}

// pass heartbeats to Consul. If that is not there, it is not asked for each.
func (o *ownNodes) pass(ctx context.Context, nodes []database.Held) error {
	var all error
	for _, n := range nodes {
		if n.State != registration.Registered {
			continue
		}
		err := o.passOne(discovery.WithCorrelation(ctx, n.Correlation), n)
		if err != nil {
			o.log.WarnContext(ctx, "no heartbeat", "node", n.NodeID, "registration", n.RegistrationID, "error", err, "correlation", n.Correlation)
			all = errors.Join(all, err)
		}
		if errors.Is(err, ErrRefused) || errors.Is(err, ErrUnreachable) {
			return all
		}
	}
	return all
}

func (o *ownNodes) passOne(ctx context.Context, n database.Held) error {
	ctx, cancel := context.WithTimeout(ctx, o.advertiser.attempt)
	defer cancel()
	err := o.advertiser.discovery.Heartbeat(ctx, n.RegistrationID)
	if !errors.Is(err, ErrNotAdvertised) {
		return err
	}
	return o.readvertise(ctx, n)
}

// readvertise brings back what Consul has lost, unless the node is on its way
// out. It holds the row: a deregistration that begins meanwhile, and finds nothing
// in Consul to remove, removes the row only when Consul has what it shall have.
func (o *ownNodes) readvertise(ctx context.Context, n database.Held) error {
	return o.advertiser.rows.Hold(ctx, n.Key, func() error {
		r, err := o.records.Record(ctx, n.RegistrationID)
		if err != nil || r.State != registration.Registered {
			return err
		}
		service := o.advertiser.advertisement(r)
		if err := errors.Join(o.advertiser.advertise(ctx, service), o.settle(ctx, service)); err != nil {
			return err
		}
		o.log.WarnContext(ctx, "Consul had lost a service; it is registered again", "node", n.NodeID, "registration", n.RegistrationID, "correlation", n.Correlation)
		return nil
	})
}

// settle withdraws a service again unless its registration is still registered: a
// deregistration that came meanwhile must not leave it there. Consul may have it though it has not
// answered in time, so this takes a time of its own.
func (o *ownNodes) settle(ctx context.Context, service Service) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.advertiser.attempt)
	defer cancel()
	r, err := o.records.Record(ctx, service.RegistrationID)
	if err == nil && r.State == registration.Registered {
		return nil
	}
	return errors.Join(err, o.advertiser.withdraw(ctx, service))
}

// ttlOf is how long the service of a registration stays healthy without a heartbeat.
func (o *ownNodes) ttlOf(h database.Held) time.Duration {
	ttl, err := ttlOf(h.HealthCheck, o.advertiser.ttl)
	if err != nil { // not valid, and so never advertised
		return o.advertiser.ttl
	}
	return ttl
}
