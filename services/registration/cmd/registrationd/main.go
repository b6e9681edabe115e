// Command registrationd registers nodes in PostgreSQL, or in a SQLite file, and
// in Consul, and keeps both true.
//
//	registrationd serve --store postgres://… --consul http://127.0.0.1:8500
//	registrationd register node-1 --event event.json
//	registrationd status node-1
//
// Exit codes: 0; 1 if it was refused or failed; 2 for a command line that can't
// be obeyed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// usageError is a command line that can't be obeyed.
type usageError struct{ error }

func run(ctx context.Context, args []string, in io.Reader, out, problems io.Writer) int {
	root := newRoot(in, out, problems)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(problems, "registrationd:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(problems, "  help: %s --help\n", command.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// newRoot is the command line.
func newRoot(in io.Reader, out, problems io.Writer) *cobra.Command {
	root := &cobra.Command{
		Use:   "registrationd",
		Short: "Register nodes in PostgreSQL and Consul",
		Long: `registrationd registers nodes in the database first and in Consul second,
heartbeats for them, and removes what ended registrations left behind.

Without options it keeps everything in the SQLite file registration-data/registrations.db
and works without Consul: nodes stay partial_registered then, and say why.`,
		Example: `  registrationd serve
  registrationd serve --store postgres://fsm@db/registrations --consul http://127.0.0.1:8500
  registrationd register node-1 --event event.json`,
		SilenceUsage: true, SilenceErrors: true,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetOut(out)
	root.SetErr(problems)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(problems))
	newClient(in, out).addTo(root)
	return root
}

// arguments checks that a command has exactly the named ones.
func arguments(names ...string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		switch {
		case len(args) < len(names):
			return usageError{fmt.Errorf("which %s?", names[len(args)])}
		case len(args) > len(names):
			return usageError{fmt.Errorf("unexpected argument %q", args[len(names)])}
		}
		return nil
	}
}
