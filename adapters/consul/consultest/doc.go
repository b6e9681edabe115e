// Package consultest is the exam of adapters/consul: what registration.Discovery
// and registration.Catalog promise, tried against an agent. The agent in
// adapters/consul/agent sits it and so does a real one; where the two differ the
// real one is right.
package consultest
