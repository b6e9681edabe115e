// Command fuzz runs each fuzz target below the current folder, from the inputs in testdata/fuzz.
//
//	fuzz [-time 10s]
//
// A target that fails keeps its input in testdata/fuzz, and go's output says how to run it again.
// The other targets go on.
//
// The exit code is 1 when a target failed or the run was interrupted, 2 for wrong usage.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

func main() {
	duration := flag.Duration("time", 10*time.Second, "how long each target runs")
	flag.Parse()
	if *duration <= 0 || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: fuzz [-time DURATION], with a duration above zero, as in 10s")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, ".", goTest(".", *duration))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run fuzzes each target below root. Its error names those that failed.
func run(ctx context.Context, out io.Writer, root string, fuzz fuzzer) error {
	targets, err := find(os.DirFS(root))
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("no fuzz target below %s", root)
	}
	var failed []string
	for _, t := range targets {
		fmt.Fprintln(out, "fuzz", t)
		output, err := repeat(ctx, out, t, fuzz)
		if interrupted := ctx.Err(); interrupted != nil {
			return fmt.Errorf("fuzzing was interrupted at %s: %w", t, interrupted)
		}
		if err != nil {
			fmt.Fprintf(out, "%s%s: %v\n", output, t, err)
			failed = append(failed, t.String())
		}
	}
	if failed != nil {
		return errors.New("fuzz targets that failed: " + strings.Join(failed, ", "))
	}
	return nil
}

// goTest returns a fuzzer that runs "go test -fuzz" for a duration on a target below root.
func goTest(root string, duration time.Duration) fuzzer {
	return func(ctx context.Context, t target) (string, error) {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$",
			"-fuzztime", duration.String(), "-fuzzminimizetime", "1s", ".")
		cmd.Dir = filepath.Join(root, t.dir)
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
}
