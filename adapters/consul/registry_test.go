package consul_test

import (
	"context"
	"slices"
	"strings"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/adapters/discovery/discoverytest"
)

// registry is an agent as programs see it that do not use this adapter.
type registry struct{ client *api.Client }

var _ discoverytest.Registry = registry{}

func newRegistry(o consul.Options) (registry, error) {
	client, err := api.NewClient(&api.Config{Address: o.Address, Token: o.Token})
	return registry{client}, err
}

func asking(ctx context.Context) *api.QueryOptions { return new(api.QueryOptions).WithContext(ctx) }

func writing(ctx context.Context) *api.WriteOptions { return new(api.WriteOptions).WithContext(ctx) }

func (r registry) Healthy(ctx context.Context, name, tag string) ([]string, error) {
	entries, _, err := r.client.Health().Service(name, tag, true, asking(ctx))
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Service.ID)
	}
	return ids, err
}

func (r registry) Register(ctx context.Context, s discovery.Service, health discovery.Health) error {
	foreign := &api.AgentServiceRegistration{ID: s.ID, Name: s.Name, Meta: map[string]string{"node_id": s.NodeID}}
	if s.TTL > 0 {
		foreign.Check = &api.AgentServiceCheck{TTL: s.TTL.String(), Status: string(health)}
	}
	return r.client.Agent().ServiceRegisterOpts(foreign, api.ServiceRegisterOpts{}.WithContext(ctx))
}

func (r registry) Deregister(ctx context.Context, id string) error {
	err := r.client.Agent().ServiceDeregisterOpts(id, asking(ctx))
	if err != nil && strings.Contains(strings.ToLower(err.Error()), "unknown service") {
		return nil
	}
	return err
}

// AddLost writes the paths itself: the library's own type has fields that older agents refuse.
func (r registry) AddLost(ctx context.Context, node string, s discovery.Service, checkID string) error {
	type object = map[string]any
	for _, what := range []object{
		{
			"Service": object{"ID": s.ID, "Service": s.Name, "Meta": object{"node_id": s.NodeID, "registration_id": s.RegistrationID}},
			"Check":   object{"CheckID": "registration:" + s.RegistrationID, "Name": "heartbeat", "Status": "critical", "ServiceID": s.ID},
		},
		{"Check": object{"CheckID": checkID, "Name": "lone", "Status": "critical"}},
	} {
		what["Node"], what["Address"] = node, "127.0.0.9"
		if _, err := r.client.Raw().Write("/v1/catalog/register", what, nil, writing(ctx)); err != nil {
			return err
		}
	}
	return nil
}

func (r registry) HasNode(ctx context.Context, node string) (bool, error) {
	nodes, _, err := r.client.Catalog().Nodes(asking(ctx))
	return slices.ContainsFunc(nodes, func(n *api.Node) bool { return n.Node == node }), err
}

func (r registry) RemoveNode(ctx context.Context, node string) error {
	_, err := r.client.Catalog().Deregister(&api.CatalogDeregistration{Node: node}, writing(ctx))
	return err
}

func (r registry) CreateSession(ctx context.Context, name string) (string, error) {
	id, _, err := r.client.Session().CreateNoChecks(&api.SessionEntry{Name: name}, writing(ctx))
	return id, err
}
