// Command fuzz runs each fuzz target below the current folder for a time, from the inputs in
// testdata/fuzz.
//
//	go -C tools run ./fuzz -root .. -time 10s
//
// A target that fails keeps its input in testdata/fuzz, and go's output says how to run it again.
// The other targets go on. The exit status is 1 if a target failed.
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
	"strings"
	"time"
)

func main() {
	root := flag.String("root", ".", "the folder whose targets are run")
	duration := flag.Duration("time", 10*time.Second, "how long each target is run")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, *root, goTest(*duration))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run fuzzes each target below root. Its error names those that failed.
func run(ctx context.Context, out io.Writer, root string, fuzz fuzzer) error {
	targets, err := find(root)
	if err != nil {
		return err
	}
	if len(targets) == 0 {
		return fmt.Errorf("no fuzz target below %s", root)
	}
	var failed []string
	for _, t := range targets {
		fmt.Fprintln(out, "fuzz", t)
		if output, err := repeat(ctx, t, fuzz); err != nil {
			fmt.Fprint(out, output)
			failed = append(failed, t.String())
		}
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("fuzzing was interrupted at %s: %w", t, err)
		}
	}
	if failed != nil {
		return errors.New("fuzzing found inputs that fail: " + strings.Join(failed, " "))
	}
	return nil
}

// goTest returns a fuzzer that runs "go test -fuzz" for a duration.
func goTest(duration time.Duration) fuzzer {
	return func(ctx context.Context, t target) (string, error) {
		cmd := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$",
			"-fuzztime", duration.String(), "-fuzzminimizetime", "1s", ".")
		cmd.Dir = t.dir
		cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
		output, err := cmd.CombinedOutput()
		return string(output), err
	}
}
