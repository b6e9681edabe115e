// Command demo compiles the tables of spec/ in memory, takes a deal and a registration to their
// ends with the generated packages, and then runs all of them durably: on a database file,
// with a worker process that is killed in the middle. It checks its own result. Run it with
// `make demo`.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

// options say what is shown and how.
type options struct {
	root    string // the folder with spec/ and generated/
	folder  string // for the database and the systems outside; "": a new one, which stays
	records int    // of each machine
	colour  bool
}

func main() {
	if err := command(); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

func command() error {
	if len(os.Args) > 1 && os.Args[1] == workerCommand {
		return work(context.Background(), os.Args[2:], os.Stdin)
	}
	terminal := os.Getenv("TERM") != "dumb" && isatty.IsTerminal(os.Stdout.Fd())
	return run(os.Stdout, options{root: ".", records: 20, colour: terminal && os.Getenv("NO_COLOR") == ""})
}

// run shows everything.
func run(out io.Writer, o options) error {
	t := newTranscript(out, o.colour)
	if err := compile(t, o.root); err != nil {
		return err
	}
	if err := walkDeal(t); err != nil {
		return fmt.Errorf("walk a deal: %w", err)
	}
	if err := walkRegistration(t); err != nil {
		return fmt.Errorf("walk a registration: %w", err)
	}
	if err := durable(t, o); err != nil {
		return fmt.Errorf("run durably: %w", err)
	}
	return nil
}
