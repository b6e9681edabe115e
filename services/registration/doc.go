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
//
// The ids are UUIDv7, and each is larger than any that its node had: of two the
// larger is the later one. A row is written only by a registration that is not
// earlier than the one that has it, and that has neither failed nor ended.
//
// # What comes first
//
// The row, and then the service: Consul is asked while the row is there, and the
// row is looked at again when it has answered. On the way out the service goes
// first: the row is deleted once Consul has answered that the service is gone,
// and stays otherwise. So Consul advertises tracked nodes only; document 001,
// which deletes both in parallel, would let the row go before (F-001-14).
//
// # Who lives
//
// The daemon through which a node was registered heartbeats for it, in its row
// and to Consul, three times to a TTL, and goes on with it when it is restarted
// under its name. A service that Consul has lost is registered again: the row is
// the truth. A node that nobody heartbeats for is deregistered by the collectors
// of any daemon, or given up if it was never quite registered; what a dead daemon
// was at work on, any other goes on with.
//
// # What is left behind
//
// A registration that ended without confirmation keeps its cleanups pending or
// failed. The collectors look for what such ones left, for rows that are stale,
// services that nobody tracks or that have been critical for too long, sessions
// and checks of nodes that are gone. What carries no registration id, or is named
// for a node that was never registered here, is somebody else's.
//
// # Without Consul
//
// A daemon may work without: registrations then end in partial_registered, which
// says why, and nothing claims to be advertised.
package registration
