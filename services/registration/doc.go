// Package registration registers nodes in PostgreSQL, the source of truth, and
// in Consul, where they are discovered: the machine registration of document
// 001, with what surrounds it.
//
// # What it works with
//
// The generated machine decides and runtime/engine remembers; both know nothing
// of the outside. That is behind three small interfaces, declared here because
// this package is who needs them:
//
//   - Registry, the rows of node_registrations;
//   - Discovery, what the effects of a registration ask of Consul;
//   - Catalog, what the collectors ask of it.
//
// adapters/consul implements the last two. Their errors are those of errors.go,
// whatever is behind them.
//
// # Which registration
//
// A node may be registered again after its deregistration, and what was asked
// for in an earlier life may arrive in a later one. Everything that is written
// outside therefore carries the registration_id, and whoever removes or renews
// something names the registration whose it is: that of another one stays.
package registration
