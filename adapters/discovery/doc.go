// Package discovery is the interface to a service discovery such as Consul: [Discovery], which
// advertises services, and [Catalog], which lists and removes what is advertised. Package
// adapters/consul implements both. Package discoverytest is the conformance suite.
//
// The package knows no service of this repository: a service of your own can use
// adapters/consul by these interfaces, or by the concrete type.
package discovery
