package registration

import (
	"context"
	"time"
)

// Discovery advertises services, for the effects of a registration. Every
// method is idempotent: twice is as good as once.
//
// An error is one of errors.go. ErrRefused, ErrNotPermitted and ErrInvalid say
// that nothing was changed; after ErrUnreachable and ErrServer it may have been.
type Discovery interface {
	// Register makes a service discoverable: it is there, and healthy until the
	// TTL of its check has passed without a Heartbeat. It replaces whatever has
	// the ID, with its checks.
	Register(ctx context.Context, s Service) error
	// Heartbeat says that the service of a registration lives, for another TTL.
	// ErrNotAdvertised: it is not there, or another registration has its ID.
	Heartbeat(ctx context.Context, registrationID string) error
	// Deregister takes a service away if it is that of the registration. One
	// that is not there is gone already, and one of another registration stays:
	// neither is an error.
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

// Catalog tells what is advertised, for the collectors, and takes away what is
// an orphan. Its errors are those of Discovery.
//
// What the credentials may not read is left out without a word: an absence
// proves nothing.
type Catalog interface {
	// Names lists the names of all services.
	Names(ctx context.Context) ([]string, error)
	// Instances lists the services of a name.
	Instances(ctx context.Context, name string) ([]Instance, error)
	// Withdraw takes an instance away as Deregister does, also when the agent
	// that it was registered with is gone.
	Withdraw(ctx context.Context, i Instance) error
	// Checks lists all checks.
	Checks(ctx context.Context) ([]Check, error)
	// RemoveCheck takes a check away. One that is not there is gone already.
	RemoveCheck(ctx context.Context, c Check) error
	// Sessions lists all sessions.
	Sessions(ctx context.Context) ([]Session, error)
	// DestroySession ends a session, and what it has locked is released as the
	// session says. One that is not there is gone already.
	DestroySession(ctx context.Context, id string) error
}

// Instance is a service as the catalog has it.
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

// Health is what the worst check of a service says.
type Health string

// The healths, best first.
const (
	Passing  Health = "passing"
	Warning  Health = "warning"
	Critical Health = "critical"
)

// Check is a health check as the catalog has it.
type Check struct {
	ID             string
	Node           string // the agent that it was registered with
	ServiceID      string // empty: it is of no service
	RegistrationID string // empty: it is of no registration
	Health         Health
	Output         string // what it said last
}

// Session is a session as the catalog has it.
type Session struct {
	ID   string
	Name string // by convention the id of the node that it belongs to
	Node string // the agent that it was made with
}
