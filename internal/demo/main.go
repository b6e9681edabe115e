// Command demo shows the project at work: it compiles the ten tables of spec/
// in memory, then walks a deal and a registration through to the end with the
// packages that were generated from them. Run it with `make demo`.
//
// Nothing outside happens: the clock is virtual and effects are only shown.
package main

import (
	"fmt"
	"io"
	"os"

	"github.com/mattn/go-isatty"
)

func main() {
	colour := os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isatty.IsTerminal(os.Stdout.Fd())
	if err := run(os.Stdout, ".", colour); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run shows everything; root is the folder with spec/ and generated/.
func run(out io.Writer, root string, colour bool) error {
	t := newTranscript(out, colour)
	if err := compile(t, root); err != nil {
		return err
	}
	if err := walkDeal(t); err != nil {
		return fmt.Errorf("walk a deal: %w", err)
	}
	if err := walkRegistration(t); err != nil {
		return fmt.Errorf("walk a registration: %w", err)
	}
	return nil
}
