// Package proxytest puts a proxy of the test's own between a client and its
// server, which does what bad networks do: it is slow, it loses, cuts, holds
// back and repeats, and it leaves connections that only one side believes in.
//
// [Proxy] knows no protocol. A request or an answer is what one read brings: all
// of a small one, the beginning of a large one. [HTTP] knows requests and
// answers, and lets a test answer some in the server's place.
package proxytest
