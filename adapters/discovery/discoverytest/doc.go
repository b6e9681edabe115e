// Package discoverytest is the conformance suite of discovery.Discovery and discovery.Catalog. It
// runs adapters/consul against the agent of internal/consulagent and against a real agent. Where
// the two differ the real one is right.
package discoverytest
