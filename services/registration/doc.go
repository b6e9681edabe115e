// Package registration registers nodes in PostgreSQL, the source of truth, and
// in Consul, where they are discovered: the machine registration of document
// 001, with what surrounds it.
//
// # Parts
//
// The generated machine decides and runtime/engine remembers; both know nothing
// of the outside. This package registers: it begins registrations, fires triggers,
// carries out effects and heartbeats. It knows neither SQL nor HTTP:
//
//   - package database has the records, the rows of node_registrations and all SQL;
//   - package collect has the collectors, which Server runs;
//   - package httpapi serves a Server over HTTP.
//
// The outside is behind three interfaces. Registry is the rows; those of package
// database are the default. Discovery is what the effects of a registration ask of
// Consul, and Catalog what the collectors ask of it; adapters/consul implements both.
// Their errors are those of errors.go, whatever is behind them.
//
// # Which registration
//
// A node may be registered again after its deregistration, and what was asked
// for in an earlier life may arrive in a later one. Everything that is written
// outside therefore carries the registration_id, and a removal or a renewal names
// the registration that it is for: what another one has stays.
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
// the truth. A node without heartbeats is deregistered by the collectors
// of any daemon, or given up if it was never quite registered; what a dead daemon
// was at work on, any other goes on with.
//
// # What is left behind
//
// A registration that ended without confirmation keeps its cleanups pending or
// failed. The collectors look for what such ones left, for rows that are stale,
// services without a row or that have been critical for too long, sessions
// and checks of nodes that are gone. What carries no registration id, or is named
// for a node that was never registered here, belongs to another program.
//
// # Without Consul
//
// A daemon may work without: registrations then end in partial_registered, which
// says why, and nothing claims to be advertised.
package registration
