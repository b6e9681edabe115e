package registration

import "github.com/fsmgen/fsmgen/adapters/discovery"

// What the service needs of a service discovery such as Consul is declared in package discovery,
// so that adapters know no service.
type (
	// Discovery advertises services.
	Discovery = discovery.Discovery
	// Catalog lists what is advertised, for the collectors.
	Catalog = discovery.Catalog
	// Service is what a registration advertises.
	Service = discovery.Service
	// Instance is a service in the catalog.
	Instance = discovery.Instance
	// Check is a health check in the catalog.
	Check = discovery.Check
	// Health is what the worst check of a service says.
	Health = discovery.Health
	// Session is a session in the catalog.
	Session = discovery.Session
)

// The healths of an instance or a check, best first.
const (
	Passing  = discovery.Passing
	Warning  = discovery.Warning
	Critical = discovery.Critical
)
