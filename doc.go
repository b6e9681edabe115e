// Package fsmgen is the root of the fsmgen module; it holds no code.
//
// Read the tree from left to right and you have read the design: spec is what
// people write, gen compiles it, generated is what comes out, runtime
// executes it. The command is cmd/fsmgen. See ARCHITECTURE.md.
package fsmgen
