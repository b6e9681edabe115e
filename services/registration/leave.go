package registration

import (
	"context"
	"errors"
	"time"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration/database"
)

// Leave deregisters the nodes of this daemon, which is about to end, and returns
// when none is left or at work, or when ctx ends: a deregistration that does not
// succeed ends by the timeout of its state, which Run fires. What has failed, or
// waits for an operator, is left as it is. It returns the nodes that it left.
func (o *ownNodes) Leave(ctx context.Context) (left []string, err error) {
	const look = 20 * time.Millisecond
	for {
		nodes, err := o.records.db.Held(ctx, o.daemon)
		if err != nil && ctx.Err() == nil {
			return left, err
		}
		if ctx.Err() == nil {
			left, err = o.dismiss(ctx, nodes)
		}
		if len(left) == 0 && err == nil || ctx.Err() != nil {
			return left, err
		}
		rest(ctx, look)
	}
}

// dismiss begins the deregistration of each node that is registered, and lists
// those that have not come to an end.
func (o *ownNodes) dismiss(ctx context.Context, nodes []database.Held) (under []string, all error) {
	for _, n := range nodes {
		switch n.State {
		case registration.Failed, registration.PartialRegistered, registration.Deregistered, registration.Unregistered:
			continue
		case registration.Registered:
			r, err := o.records.Record(ctx, n.RegistrationID)
			if err == nil {
				err = o.records.Tell(ctx, r, registration.Deregister{}, registration.ByExternal("shutdown"))
			}
			all = errors.Join(all, err)
		case registration.Validating, registration.RegisteringPostgres, registration.PostgresRegistered,
			registration.RegisteringConsul, registration.Deregistering:
		}
		under = append(under, n.NodeID)
	}
	return under, all
}
