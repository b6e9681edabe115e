// Package gen compiles specs: bytes in, files and diagnostics out.
//
// The stages, each a package: syntax (YAML to tree), ir (names to pointers),
// check (does the table make sense), and the emitters golang, ddl, mermaid
// and docs. No stage edits another's output. The package touches no disk and
// has no clock and no global state; cmd/fsmgen reads and writes the files.
package gen
