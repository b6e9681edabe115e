package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// The exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// errReported means that the command has said all there is to say.
var errReported = errors.New("already reported")

// usageError is a command line that cannot be obeyed.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// ranError is an error of a command whose command line was in order.
type ranError struct{ error }

func (e ranError) Unwrap() error { return e.error }

// run is the whole program; it returns the exit code.
func run(args []string, w *world) (code int) {
	defer func() {
		if fault := recover(); fault != nil {
			code = w.fault(fault)
		}
	}()
	root := newRoot(w)
	root.SetArgs(append([]string{}, args...))
	cmd, err := root.ExecuteC()
	return w.exit(cmd, err)
}

// fault reports a mistake of the program.
func (w *world) fault(what any) int {
	fmt.Fprintf(w.stderr, "fsmgen: fault of the program itself: %v\n  help: please report it with the spec: https://github.com/fsmgen/fsmgen/issues\n", what)
	return exitFailed
}

// exit reports err and chooses the exit code.
func (w *world) exit(cmd *cobra.Command, err error) int {
	var usage usageError
	var ran ranError
	var gap *ir.NoFormError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	case errors.As(err, &gap):
		return w.fault(err)
	case errors.As(err, &ran) && !errors.As(err, &usage):
		fmt.Fprintf(w.stderr, "fsmgen: %v\n", err)
		return exitFailed
	}
	fmt.Fprintf(w.stderr, "fsmgen: %v\n  help: %s --help\n", err, cmd.CommandPath())
	return exitUsage
}

// newRoot builds the command tree.
func newRoot(w *world) *cobra.Command {
	root := &cobra.Command{
		Use:   "fsmgen",
		Short: "Compile tables of states into code, schema, diagram and tests",
		Long: `fsmgen turns the transition table of a design document into the Go code, the
PostgreSQL and SQLite schema, the diagram and the tests that enforce it.

Begin with: fsmgen init order`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(w.stdin)
	root.SetOut(w.stdout)
	root.SetErr(w.stderr)
	root.AddCommand(
		initCommand(w), generateCommand(w), checkCommand(w), inspectCommand(w), simulateCommand(w),
		diagramCommand(w), schemaCommand(w), explainCommand(w), versionCommand(w),
	)
	return root
}

// action marks the errors of a command that ran, which run tells from those
// of a command line that cobra refused.
func action(f func(args []string) error) func(*cobra.Command, []string) error {
	return func(_ *cobra.Command, args []string) error {
		if err := f(args); err != nil {
			return ranError{err}
		}
		return nil
	}
}

// missing turns "no such file" into an error of the command line, which names
// the file as the user did.
func missing(err error, named, help string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("%s: no such file or folder; %s", named, help)
	}
	return err
}

// specFiles completes the names of spec files.
func specFiles(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
