// Command deald carries deals out on the TON chain and serves their HTTP API.
//
//	deald token --keys tokens.key --user 7
//	deald serve --ton global.config.json --wallet-key wallet.key --tokens tokens.key
//	deald reconcile --ton global.config.json --wallet-key wallet.key
//
// Exit codes: 0; 1 if it failed, or chain and books differ; 2 for a command line that can't be obeyed.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, world{out: os.Stdout, problems: os.Stderr, now: time.Now}, os.Args[1:]))
}

const (
	exitFailed = 1
	exitUsage  = 2
)

// audience is what tokens are for.
const audience = "deald"

// world is what a command has of the process. now is the clock of tokens and of the chain.
type world struct {
	out, problems io.Writer
	now           func() time.Time
}

// usageError is a command line that can't be obeyed.
type usageError struct{ error }

func run(ctx context.Context, w world, args []string) int {
	root := newRoot(w)
	root.SetArgs(args)
	command, err := root.ExecuteContextC(ctx)
	if err == nil {
		return 0
	}
	fmt.Fprintln(w.problems, "deald:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(w.problems, "  help: %s --help\n", command.CommandPath())
		return exitUsage
	}
	return exitFailed
}

// newRoot is the command line.
func newRoot(w world) *cobra.Command {
	root := &cobra.Command{
		Use:   "deald",
		Short: "Carry advertising deals out, with escrow on the TON chain",
		Long: `deald serves deals: their offers, the escrow on the TON chain, drafts, posts and
payouts. Everything is kept in one database, and daemons that share it share the work.`,
		Example: `  openssl rand -hex 32 >wallet.key; openssl rand -hex 32 >tokens.key; chmod 600 *.key
  deald token --keys tokens.key --user 7
  deald serve --ton global.config.json --wallet-key wallet.key --tokens tokens.key`,
		SilenceUsage: true, SilenceErrors: true,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetOut(w.out)
	root.SetErr(w.problems)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.AddCommand(newServe(w), newToken(w), newReconcile(w))
	return root
}

func noArguments(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usageError{fmt.Errorf("unexpected argument %q", args[0])}
	}
	return nil
}
