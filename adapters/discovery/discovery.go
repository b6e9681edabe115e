package discovery

import (
	"context"
	"time"
)

// Discovery advertises services. Every method is idempotent.
//
// An error is one of errors.go. After ErrRefused, ErrNotPermitted and ErrInvalid nothing has
// changed. After ErrUnreachable and ErrServer it may have changed.
type Discovery interface {
	// Register makes a service discoverable. It is healthy until the TTL of its check passes
	// without a Heartbeat. Register replaces a service with this ID, and its checks.
	Register(ctx context.Context, s Service) error
	// Heartbeat keeps the service of a registration healthy for another TTL. It returns
	// ErrNotAdvertised if there is no such service, or if another registration has its ID.
	Heartbeat(ctx context.Context, registrationID string) error
	// Deregister removes a service if it belongs to the registration. A service that does not
	// exist, or belongs to another registration, is no error.
	Deregister(ctx context.Context, serviceID, registrationID string) error
}

// Service is what a registration advertises.
type Service struct {
	ID   string
	Name string
	Tags []string
	// TTL is how long it stays healthy without a heartbeat.
	TTL            time.Duration
	NodeID         string
	RegistrationID string
}

// Catalog lists what is advertised, and removes what nothing owns any more. Its errors are those
// of Discovery.
//
// What the credentials may not read is left out silently: that something is missing proves
// nothing.
type Catalog interface {
	// Names returns the names of all services.
	Names(ctx context.Context) ([]string, error)
	// Instances returns the services of a name.
	Instances(ctx context.Context, name string) ([]Instance, error)
	// Withdraw removes an instance as Deregister does, also if the agent that it was registered
	// with is gone.
	Withdraw(ctx context.Context, i Instance) error
	// Checks returns all checks.
	Checks(ctx context.Context) ([]Check, error)
	// RemoveCheck removes a check. A check that does not exist is no error.
	RemoveCheck(ctx context.Context, c Check) error
	// Sessions returns all sessions.
	Sessions(ctx context.Context) ([]Session, error)
	// DestroySession ends a session and releases its locks as the session says. A session that
	// does not exist is no error.
	DestroySession(ctx context.Context, id string) error
}

// Instance is a service in the catalog.
type Instance struct {
	ID   string
	Name string
	Tags []string
	// Node is the agent that the service was registered with: not the node of a
	// registration.
	Node       string
	Datacenter string // of that agent
	Health     Health
	// What Register noted. Empty: somebody else registered it.
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
	ServiceID      string // empty: it is of no service
	RegistrationID string // empty: it is of no registration
	Health         Health
	Output         string // what it said last
}

// Session is a session in the catalog.
type Session struct {
	ID   string
	Name string // by convention the id of the node that it belongs to
	Node string // the agent that it was made with
}
