// Package proxytest puts a TCP proxy of the test's own between a client and its
// server, which does what bad networks do: it is slow, it loses, cuts, holds
// back and repeats, and it leaves connections that only one side believes in.
//
// It knows no protocol. A request or an answer is what one read brings: all of
// a small one, the beginning of a large one.
package proxytest
