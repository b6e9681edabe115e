package consul

import (
	"context"
	"errors"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// The keys in the Meta of a service.
const (
	metaNode         = "node_id"
	metaRegistration = "registration_id"
	metaCorrelation  = "correlation_id"
)

// checkPrefix begins the ID of a registration's check.
const checkPrefix = "registration:"

// Register implements discovery.Discovery.
func (c *Client) Register(ctx context.Context, s discovery.Service) error {
	attempt := quoted("register service", s.ID)
	if err := checkID(attempt, s.ID, s.RegistrationID); err != nil {
		return err
	}
	switch {
	case s.Name == "":
		return invalid(attempt, errors.New("the service has no name"))
	case s.TTL <= 0:
		return invalid(attempt, errors.New("the TTL must be positive"))
	}
	err := c.call(ctx, attempt, func(ctx context.Context) error {
		// Without the replacement, the check of an earlier registration would stay.
		return c.api.Agent().ServiceRegisterOpts(request(ctx, s), api.ServiceRegisterOpts{ReplaceExistingChecks: true}.WithContext(ctx))
	})
	if err != nil {
		return err
	}
	// A check that was there before keeps its status, and it may be critical.
	return c.pass(ctx, attempt, s.RegistrationID)
}

func request(ctx context.Context, s discovery.Service) *api.AgentServiceRegistration {
	meta := map[string]string{metaNode: s.NodeID, metaRegistration: s.RegistrationID}
	if id := discovery.Correlation(ctx); id != "" {
		meta[metaCorrelation] = id
	}
	return &api.AgentServiceRegistration{
		ID:   s.ID,
		Name: s.Name,
		Tags: s.Tags,
		Meta: meta,
		Check: &api.AgentServiceCheck{
			CheckID: checkPrefix + s.RegistrationID,
			Name:    "heartbeat of the registration",
			TTL:     s.TTL.String(),
			Status:  api.HealthPassing, // of a check that is new
		},
	}
}

// Heartbeat implements discovery.Discovery.
func (c *Client) Heartbeat(ctx context.Context, registrationID string) error {
	attempt := quoted("renew registration", registrationID)
	if err := checkID(attempt, registrationID); err != nil {
		return err
	}
	return c.pass(ctx, attempt, registrationID)
}

func (c *Client) pass(ctx context.Context, attempt, registrationID string) error {
	return c.call(ctx, attempt, func(ctx context.Context) error {
		return c.api.Agent().UpdateTTLOpts(checkPrefix+registrationID, "", api.HealthPassing, query(ctx))
	})
}

// Deregister implements discovery.Discovery.
func (c *Client) Deregister(ctx context.Context, serviceID, registrationID string) error {
	_, err := c.deregister(ctx, serviceID, registrationID)
	return err
}

// deregister also reports whether the agent had the service of the registration.
func (c *Client) deregister(ctx context.Context, serviceID, registrationID string) (had bool, err error) {
	attempt := quoted("deregister service", serviceID)
	if err := checkID(attempt, serviceID, registrationID); err != nil {
		return false, err
	}
	var found *api.AgentService
	err = c.call(ctx, attempt, func(ctx context.Context) (err error) {
		found, _, err = c.api.Agent().Service(serviceID, query(ctx))
		return err
	})
	switch {
	case gone(err):
		return false, nil
	case err != nil:
		return false, err
	case found == nil || found.ID != serviceID:
		return false, &Error{
			Attempt: attempt, Kind: discovery.ErrServer, Advice: adviceNoConsul, Err: errors.New("the answer has another service"),
		}
	case found.Meta[metaRegistration] != registrationID:
		return false, nil
	}
	err = c.call(ctx, attempt, func(ctx context.Context) error {
		return c.api.Agent().ServiceDeregisterOpts(serviceID, query(ctx))
	})
	if gone(err) {
		return true, nil
	}
	return err == nil, err
}

// gone reports that Consul has no such thing.
func gone(err error) bool { return errors.Is(err, discovery.ErrNotAdvertised) }
