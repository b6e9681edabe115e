// Command fsmgen compiles tables of states into the code, the schema, the
// diagram and the tests that enforce them.
//
// This package reads and writes files, parses flags and chooses exit codes;
// what a spec means is decided in package gen. Exit codes: 0; 1 for
// diagnostics, stale output and failed scripts; 2 for a command line that
// cannot be obeyed.
package main

import "os"

func main() {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	os.Exit(run(os.Args[1:], &world{dir: dir, stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv}))
}
