package collect

import (
	"context"
	"errors"

	"github.com/fsmgen/fsmgen/generated/registration"
)

// Reconcile looks at the partial registrations: one whose service has turned up
// in Consul after all, since the answer came too late, is complete (document
// 001, Trigger Catalog, RECOVERY_COMPLETE).
func (c *Collectors) Reconcile(ctx context.Context) error {
	if c.Catalog == nil {
		return nil
	}
	var all error
	for r, err := range c.Registrations.All(ctx, registration.PartialRegistered) {
		if err == nil {
			err = c.reconcile(ctx, r)
		}
		all = errors.Join(all, err)
	}
	return all
}

func (c *Collectors) reconcile(ctx context.Context, r *registration.Record) error {
	if _, there, err := c.Registrations.Instance(ctx, r); err != nil || !there {
		return err
	}
	if there, err := c.Registrations.HasRow(ctx, r); err != nil || !there {
		return err
	}
	return c.Registrations.Tell(ctx, r, registration.RecoveryComplete{PostgresApplied: true, ConsulApplied: true}, registration.BySystem())
}
