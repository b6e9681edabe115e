// Package consulagent answers as the HTTP API of a Consul agent does, as far as
// adapters/consul asks, from the memory of this process. It is not Consul: it
// has no cluster, no storage, no blocking queries, one token, no checks but TTL
// checks, no key-value store, and its sessions lock nothing and do not expire.
// It is for tests. The conformance suite adapters/discovery/discoverytest runs against it and
// against a real agent; where the two differ the real one is right.
//
// Its clock is injected, so that a TTL passes without waiting. What is unknown
// it answers as Consul 1.11 and later do, with 404; older versions say 500, or
// 200 without ACLs.
package consulagent
