// Package discovery is the interface to a service discovery such as Consul: [Discovery], which
// advertises services, and [Catalog], which lists and removes what is advertised. Package
// adapters/consul implements both. Package discoverytest is the conformance suite.
//
// The package knows no service of this repository. Other services can use adapters/consul through
// these interfaces or through its own type.
package discovery
