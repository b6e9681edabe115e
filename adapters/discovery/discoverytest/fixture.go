package discoverytest

import (
	"context"
	"crypto/tls"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// Client is the implementation under test.
type Client interface {
	discovery.Discovery
	discovery.Catalog
}

// Fixture is a server with the implementation that the cases run on. Other tests may use the
// server at the same time.
type Fixture struct {
	// Access permits everything. The server denies what other credentials ask for.
	Access Access
	// Open returns a client. What has to be closed is closed at the end of the test.
	Open func(t testing.TB, a Access) Client
	// Registry is the server as other programs see it.
	Registry Registry
	// Datacenter is that of the server.
	Datacenter string
	// Advance moves the server's clock. With nil the clock is the real one.
	Advance func(time.Duration)
	// CheckError reports what an error of the implementation lacks. With nil only what package
	// discovery says of errors is checked.
	CheckError func(error) error
}

// Access is how a client reaches the server.
type Access struct {
	// Address is the URL of the server's HTTP interface. With "" the server is in this process:
	// the cases about networks and TLS are skipped.
	Address string
	// Token is the credential. With "" there is none.
	Token string
	// TLS is used for an https Address. With nil the client trusts the CAs of this machine.
	TLS *tls.Config
	// Timeout bounds each request. With 0 it is the implementation's default.
	Timeout time.Duration
}

// Registry does on a server what programs do that do not use the implementation under test.
type Registry interface {
	// Healthy returns the IDs of the healthy services with a name and a tag.
	Healthy(ctx context.Context, name, tag string) ([]string, error)
	// Register registers a service of no registration, with a check that has this health. Without
	// a TTL there is no check.
	Register(ctx context.Context, s discovery.Service, health discovery.Health) error
	// Deregister removes a service. A service that does not exist is no error.
	Deregister(ctx context.Context, id string) error
	// AddLost adds the node of an agent that does not exist any more. The node has a service,
	// with a critical check, and a critical check of no service.
	AddLost(ctx context.Context, node string, s discovery.Service, checkID string) error
	// HasNode reports whether there is such a node.
	HasNode(ctx context.Context, node string) (bool, error)
	// RemoveNode removes a node with its services and checks.
	RemoveNode(ctx context.Context, node string) error
	// CreateSession makes a session and returns its ID.
	CreateSession(ctx context.Context, name string) (string, error)
}
