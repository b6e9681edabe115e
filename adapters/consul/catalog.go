package consul

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// Names implements discovery.Catalog.
func (c *Client) Names(ctx context.Context) ([]string, error) {
	var names map[string][]string
	err := c.call(ctx, "list the services", func(ctx context.Context) (err error) {
		names, _, err = c.api.Catalog().Services(query(ctx))
		return err
	})
	return slices.Sorted(maps.Keys(names)), err
}

// Instances implements discovery.Catalog.
func (c *Client) Instances(ctx context.Context, name string) ([]discovery.Instance, error) {
	attempt := quoted("list the services named", name)
	if err := checkID(attempt, name); err != nil {
		return nil, err
	}
	var entries []*api.ServiceEntry
	err := c.call(ctx, attempt, func(ctx context.Context) (err error) {
		entries, _, err = c.api.Health().Service(name, "", false, query(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	instances := make([]discovery.Instance, 0, len(entries))
	for _, e := range entries {
		if e == nil || e.Node == nil || e.Service == nil {
			continue
		}
		instances = append(instances, discovery.Instance{
			ID:             e.Service.ID,
			Name:           e.Service.Service,
			Tags:           e.Service.Tags,
			Node:           e.Node.Node,
			Datacenter:     e.Node.Datacenter,
			Health:         worst(e.Checks),
			NodeID:         e.Service.Meta[metaNode],
			RegistrationID: e.Service.Meta[metaRegistration],
			CorrelationID:  e.Service.Meta[metaCorrelation],
		})
	}
	return instances, nil
}

// worst is what the worst of the checks says. Maintenance counts as critical:
// the service is not discovered either.
func worst(checks api.HealthChecks) discovery.Health {
	switch checks.AggregatedStatus() {
	case api.HealthPassing:
		return discovery.Passing
	case api.HealthWarning:
		return discovery.Warning
	}
	return discovery.Critical
}

// Withdraw implements discovery.Catalog. A service that the agent of the Client does not have is
// removed from the catalog; its own agent would register it again if it still ran.
func (c *Client) Withdraw(ctx context.Context, i discovery.Instance) error {
	attempt := quoted("withdraw service", i.ID)
	// Without the ID of the service Consul would remove the agent's node.
	if err := checkID(attempt, i.Node, i.Name, i.ID, i.RegistrationID); err != nil {
		return err
	}
	had, err := c.deregister(ctx, i.ID, i.RegistrationID)
	if had || err != nil {
		return err
	}
	there, err := c.Instances(ctx, i.Name)
	if err != nil {
		return err
	}
	same := func(other discovery.Instance) bool {
		return other.Node == i.Node && other.ID == i.ID && other.RegistrationID == i.RegistrationID
	}
	if !slices.ContainsFunc(there, same) {
		return nil
	}
	return c.remove(ctx, attempt, api.CatalogDeregistration{Node: i.Node, ServiceID: i.ID})
}

// remove takes something out of the catalog.
func (c *Client) remove(ctx context.Context, attempt string, what api.CatalogDeregistration) error {
	err := c.call(ctx, attempt, func(ctx context.Context) error {
		_, err := c.api.Catalog().Deregister(&what, write(ctx))
		return err
	})
	if gone(err) {
		return nil
	}
	return err
}

// Checks implements discovery.Catalog.
func (c *Client) Checks(ctx context.Context) ([]discovery.Check, error) {
	var all api.HealthChecks
	err := c.call(ctx, "list the checks", func(ctx context.Context) (err error) {
		all, _, err = c.api.Health().State(api.HealthAny, query(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	checks := make([]discovery.Check, 0, len(all))
	for _, check := range all {
		if check == nil {
			continue
		}
		id, ours := strings.CutPrefix(check.CheckID, checkPrefix)
		if !ours {
			id = ""
		}
		checks = append(checks, discovery.Check{
			ID: check.CheckID, Node: check.Node, ServiceID: check.ServiceID, RegistrationID: id,
			Health: worst(api.HealthChecks{check}), Output: check.Output,
		})
	}
	return checks, nil
}

// RemoveCheck implements discovery.Catalog.
func (c *Client) RemoveCheck(ctx context.Context, check discovery.Check) error {
	attempt := quoted("remove check", check.ID)
	// Without the ID of the check Consul would remove the agent's node.
	if err := checkID(attempt, check.Node, check.ID); err != nil {
		return err
	}
	err := c.call(ctx, attempt, func(ctx context.Context) error {
		return c.api.Agent().CheckDeregisterOpts(check.ID, query(ctx))
	})
	if err != nil && !gone(err) {
		return err
	}
	var there api.HealthChecks
	err = c.call(ctx, attempt, func(ctx context.Context) (err error) {
		there, _, err = c.api.Health().Node(check.Node, query(ctx))
		return err
	})
	same := func(other *api.HealthCheck) bool { return other != nil && other.CheckID == check.ID }
	if err != nil || !slices.ContainsFunc(there, same) {
		return err
	}
	return c.remove(ctx, attempt, api.CatalogDeregistration{Node: check.Node, CheckID: check.ID})
}
