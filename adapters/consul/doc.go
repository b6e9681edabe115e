// Package consul advertises services in Consul: Client implements discovery.Discovery and
// discovery.Catalog on a Consul agent.
//
// # What a caller can rely on
//
// Every call is idempotent. No call repeats a request by itself,
// since pauses and limits belong to the effects of the table. A request that the
// agent does not answer ends after Options.Timeout; it may have happened.
//
// A service carries node_id, registration_id and correlation_id in its Meta, and
// its check is named after the registration. So a heartbeat of an ended
// registration finds no check, and can't keep a later one alive. Consul has no
// delete that compares: Deregister looks whose the service is and then takes it
// away, and a registration that takes the ID over between the two is taken away
// in its stead. Its next heartbeat says so.
//
// The correlation id of the context (discovery.WithCorrelation) goes along
// with every request as X-Correlation-ID.
//
// # What it needs
//
// An agent of one's own: Consul's agents own what is registered with them, so
// that registering, renewing and deregistering have to use the same one. Where
// ACLs are on, a token with service:write for the services, and for the
// collectors service:read, node:read, session:write, and node:write to take away
// what the agents of lost machines have left. What the token may not read is not
// there: Consul says nothing of it.
//
// No configuration file is read; of the environment the proxies that net/http
// uses, and CONSUL_NAMESPACE and CONSUL_PARTITION, which the library does.
package consul
