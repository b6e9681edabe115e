package main

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/cmd/fsmgen/internal/simulate"
)

// simulating are the flags of simulate.
type simulating struct {
	script string
	json   bool
	seedID string
	now    string
}

func simulateCommand(w *world) *cobra.Command {
	var f simulating
	cmd := &cobra.Command{
		Use:   "simulate FILE",
		Short: "Walk a machine by hand: fire events, move the clock, ask why",
		Long: `Simulate walks one record of a machine at the terminal, straight from its
table. It shows the state, the effects and deadline of each step, the legal
events, and why the others are refused. The clock is virtual: it stands until
you advance it. Effects are shown, never run; their answers are events that
you fire.

With --script, or when the input is not a terminal, it obeys the lines of a
file and prints the transcript. A line that begins with ! must be refused;
any other line must succeed, or the exit code is 1.`,
		Example: `  fsmgen simulate spec/order.yaml
  printf 'fire create title=tea\nevents\n!fire ship\n' | fsmgen simulate spec/order.yaml
  fsmgen simulate --script walk.txt --json spec/order.yaml`,
		Args:              oneFile,
		ValidArgsFunction: specFiles,
		RunE:              action(func(args []string) error { return w.simulate(args[0], f) }),
	}
	flags := cmd.Flags()
	flags.StringVar(&f.script, "script", "", "obey the lines of this file (- for the standard input)")
	flags.BoolVar(&f.json, "json", false, "print one JSON object a command")
	flags.StringVar(&f.seedID, "seed-id", "", "identity of the record (default: a fixed one of its type)")
	flags.StringVar(&f.now, "now", "", "where the clock starts (default "+simulate.Epoch.Format(time.RFC3339)+")")
	return cmd
}

func (w *world) simulate(file string, f simulating) error {
	m, err := w.machine(file)
	if err != nil {
		return err
	}
	config := simulate.Config{ID: f.seedID}
	if f.now != "" {
		if config.Now, err = time.Parse(time.RFC3339, f.now); err != nil {
			return usagef("--now %s: write a time such as %s", f.now, simulate.Epoch.Format(time.RFC3339))
		}
	}
	session, err := simulate.New(m, config)
	if err != nil {
		return usagef("--seed-id: %w", err)
	}
	if f.script == "" && isTerminal(w.stdin) {
		fmt.Fprintf(w.stdout, "%s: %d states, %d events. `help` lists the commands, `events` what is legal.\n", m, len(m.States), len(m.Events))
		return simulate.Talk(session, w.stdin, w.stdout, w.renderReply(f.json))
	}
	script, err := w.openScript(f.script)
	if err != nil {
		return err
	}
	defer script.Close()
	return simulate.Script(session, script, w.stdout, !f.json, w.renderReply(f.json))
}

func (w *world) renderReply(asJSON bool) simulate.Render {
	if asJSON {
		return simulate.Reply.JSON
	}
	paint := simulate.Plain
	if w.colour(w.stdout) {
		paint = simulate.Colours
	}
	return func(r simulate.Reply) ([]byte, error) { return []byte(r.Text(paint)), nil }
}

func (w *world) openScript(name string) (io.ReadCloser, error) {
	if name == "" || name == "-" {
		return io.NopCloser(w.stdin), nil
	}
	f, err := os.Open(w.abs(name))
	if err != nil {
		return nil, missing(err, name, "--script names a file of commands")
	}
	return f, nil
}
