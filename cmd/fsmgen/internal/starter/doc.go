// Package starter makes the files of a newcomer's first machine: a spec, the
// Go file with the go:generate line, and a go.mod where there is none.
//
// It returns bytes; the command writes them.
package starter
