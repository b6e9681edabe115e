// Package discoverytest is the conformance suite of discovery.Discovery and discovery.Catalog.
// [Run] runs its cases on a [Fixture]: an implementation and a server that it talks to.
//
// adapters/consul passes it on a real agent and on that of internal/consulagent. The suite's own
// test runs it on a registry in memory, and on broken ones.
package discoverytest
