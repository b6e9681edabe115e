// Command parts runs a command with the real parts that the tests talk to.
//
//	parts [--need postgres,mermaid] -- COMMAND [ARGUMENT...]
//
// It finds each part on the machine, or installs it where it may, starts it on
// loopback in a directory of its own, and puts its address into the command's
// environment. The command runs in the repository's root with its output
// passed through and no standard input. When it ends, or the runner is
// interrupted, every part is stopped and one line per part says what ran.
//
// In CI (CI or FSMGEN_REQUIRE_PARTS is set) a part that could not be had is a
// failure: the command is not run. Elsewhere it runs without the part. When
// every part runs, the command sees FSMGEN_REQUIRE_PARTS=1, and a test that
// then lacks a part must fail instead of skip.
//
// The exit code is the command's own, 1 when a part failed, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const usage = "usage: parts [--need NAME,...] -- COMMAND [ARGUMENT...]"

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, cancel, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

func run(ctx context.Context, cancel context.CancelFunc, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("parts", flag.ContinueOnError)
	flags.SetOutput(stderr)
	need := flags.String("need", "", "comma-separated `names` of the parts to start (default all)")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	if flags.NArg() == 0 {
		fmt.Fprintln(stderr, usage)
		return 2
	}
	root, err := findRoot()
	if err != nil {
		fmt.Fprintln(stderr, "parts:", err)
		return 1
	}
	known := knownParts(root)
	wanted, err := choose(known, *need)
	if err != nil {
		fmt.Fprintln(stderr, "parts:", err)
		return 2
	}
	dir, err := makeRunDir(os.TempDir())
	if err != nil {
		fmt.Fprintln(stderr, "parts:", err)
		return 1
	}
	defer os.RemoveAll(dir)

	go cancelWhenOrphaned(ctx, cancel, os.Getppid)
	r := runner{root: root, dir: dir, known: known, required: partsRequired(), stdout: stdout, stderr: stderr}
	return r.run(ctx, wanted, flags.Args())
}

// partsRequired reports whether a missing part is a failure.
func partsRequired() bool {
	return isSet("CI") || isSet(requireVariable)
}

func isSet(variable string) bool {
	switch os.Getenv(variable) {
	case "", "0", "false":
		return false
	}
	return true
}

// findRoot walks up from the working directory to the repository's root.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "tools", "go.mod")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", errors.New("not inside the repository: no folder above has tools/go.mod")
		}
		dir = parent
	}
}

// cancelWhenOrphaned ends the run when the process that started it is gone:
// "go run" and a killed make do not pass their signals on.
func cancelWhenOrphaned(ctx context.Context, cancel context.CancelFunc, parent func() int) {
	first := parent()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if parent() != first {
				cancel()
				return
			}
		}
	}
}
