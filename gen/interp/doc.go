// Package interp runs a machine straight from its table, without generated
// code. It is the oracle that generated Go and the databases are compared
// with, and what `fsmgen simulate` walks; clarity beats speed here.
//
// [Create] and [Fire] decide one call: they return the steps it takes, each
// with the new record and the effects, or a [Rejection]. Neither changes the
// record it was given. [Explain] tells which events are legal now and why
// the others are not.
//
// The package knows nothing of Go output, SQL or files.
package interp
