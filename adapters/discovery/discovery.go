package discovery

import (
	"context"
	"time"
)

// Discovery advertises services. Every method is idempotent.
//
// Every error wraps one of the errors of this package. After ErrRefused, ErrNotPermitted and
// ErrInvalid the server is unchanged. After ErrUnreachable and ErrServer it may have changed.
//
// An ID is part of a path: it is not empty, is UTF-8 without control characters, and
// path.Clean("/"+ID) keeps it. Any other ID is ErrInvalid, and so is a correlation id with control
// characters.
type Discovery interface {
	// Register makes a service discoverable. The service is healthy until its TTL passes without a
	// Heartbeat. Register replaces a service with the same ID, and the checks of that. A service
	// without a name or without a positive TTL is ErrInvalid.
	Register(ctx context.Context, s Service) error
	// Heartbeat keeps the service of a registration healthy for another TTL. It returns
	// ErrNotAdvertised if there is no such service, or if another registration has its ID.
	Heartbeat(ctx context.Context, registrationID string) error
	// Deregister removes a service if it belongs to the registration. A service that does not
	// exist, or belongs to another registration, is no error.
	Deregister(ctx context.Context, serviceID, registrationID string) error
}

// Service is a service that a registration advertises.
type Service struct {
	ID   string
	Name string
	Tags []string
	// TTL is how long the service stays healthy without a heartbeat.
	TTL            time.Duration
	NodeID         string
	RegistrationID string
}

// Catalog lists what is advertised, and removes what has no owner any more. Its errors, and the IDs
// that it takes, are those of Discovery.
//
// Without credentials a list leaves out what may not be read, and returns no error. So a service
// that is not listed may still exist.
type Catalog interface {
	// Names returns the names of all services, sorted.
	Names(ctx context.Context) ([]string, error)
	// Instances returns the services of a name.
	Instances(ctx context.Context, name string) ([]Instance, error)
	// Withdraw removes an instance as Deregister does, even if the agent that it was registered
	// with is gone.
	Withdraw(ctx context.Context, i Instance) error
	// Checks returns all checks.
	Checks(ctx context.Context) ([]Check, error)
	// RemoveCheck removes a check. A check that does not exist is no error.
	RemoveCheck(ctx context.Context, c Check) error
	// Sessions returns all sessions.
	Sessions(ctx context.Context) ([]Session, error)
	// DestroySession ends a session. Its locks are released as the session says. A session that
	// does not exist is no error.
	DestroySession(ctx context.Context, id string) error
}

// Instance is a service in the catalog.
type Instance struct {
	ID   string
	Name string
	Tags []string
	// Node is the agent that the service was registered with. It is not the node of the
	// registration, which is NodeID.
	Node       string
	Datacenter string // of that agent
	Health     Health
	// Register stored these. They are empty if another program registered the service.
	NodeID, RegistrationID, CorrelationID string
}

// Health is the result of the worst check of a service.
type Health string

// The healths, best first.
const (
	Passing  Health = "passing"
	Warning  Health = "warning"
	Critical Health = "critical"
)

// Check is a health check in the catalog.
type Check struct {
	ID             string
	Node           string // the agent that it was registered with
	ServiceID      string // "" if it belongs to no service
	RegistrationID string // "" if it belongs to no registration
	Health         Health
	Output         string // what the check reported last
}

// Session is a session in the catalog.
type Session struct {
	ID   string
	Name string // by convention the ID of the node that it belongs to
	Node string // the agent that created it
}
