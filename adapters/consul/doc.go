// Package consul advertises services in Consul: Client implements discovery.Discovery and
// discovery.Catalog on a Consul agent.
//
// # What it guarantees
//
// Every call is idempotent. No call repeats a request: the policies of the effects do that. A
// request without an answer ends after Options.Timeout. The agent may have carried it out.
//
// A service has node_id, registration_id and correlation_id in its Meta, and the name of its check
// contains the registration. So the heartbeat of an ended registration finds no check, and can't
// keep a later registration healthy. Consul can't compare and delete in one request: Deregister
// first reads which registration the service belongs to, and then removes it. If another
// registration takes over the ID in between, Deregister removes that one, and its next heartbeat
// returns ErrNotAdvertised.
//
// Every request has the correlation id of its context (discovery.WithCorrelation) in the header
// X-Correlation-ID.
//
// # What it needs
//
// A service must always use the same agent: an agent owns what is registered with it, so the
// same one must register, renew and deregister. If ACLs are on, the token needs service:write for
// the services. Collectors also need service:read, node:read, session:write, and node:write to
// remove what the agents of lost machines have left. Consul leaves out of its lists what the token
// may not read, without an error.
//
// The package reads no configuration file. It reads the environment variables for proxies that
// net/http reads, and CONSUL_NAMESPACE and CONSUL_PARTITION, which the library of Consul reads.
package consul
