// Package docs tells people and tools what a machine is: the README of a
// generated package, the index of all machines, and `fsmgen inspect`.
//
// It knows nothing of Go or SQL text and draws nothing: the diagram is given
// to [Machine] by its caller.
package docs
