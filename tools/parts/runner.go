package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// requireVariable makes a missing part a failure, here and in the tests.
const requireVariable = "FSMGEN_REQUIRE_PARTS"

// commandGrace is how long an interrupted command may take to end by itself.
const commandGrace = 10 * time.Second

// A runner starts parts, runs one command beside them and stops them.
type runner struct {
	root           string // where the command runs
	dir            string // holds a directory for each part
	known          []part
	required       bool // a missing part is a failure
	stdout, stderr io.Writer
}

// outcome is what became of one part.
type outcome struct {
	name    string
	running *running // nil when the part could not be had
	err     error
}

// run returns the exit code.
func (r *runner) run(ctx context.Context, wanted []part, command []string) int {
	outcomes := r.startAll(ctx, wanted)
	code := r.between(ctx, outcomes, command)
	if !r.stopAll(outcomes) && code == 0 {
		code = 1
	}
	if err := printCounts(r.stdout, r.countsFile()); err != nil {
		r.say("%v", err)
		code = max(code, 1)
	}
	rows := append(partRows(r.known, outcomes), libraryRows(r.root)...)
	printSummary(r.stdout, rows)
	return code
}

// between runs the command while the parts are up.
func (r *runner) between(ctx context.Context, outcomes []outcome, command []string) int {
	switch missing := missingParts(outcomes); {
	case ctx.Err() != nil:
		r.say("interrupted before the command ran")
		return 1
	case r.required && len(missing) > 0:
		r.say("the command was not run: %s could not be had and is required here", strings.Join(missing, ", "))
		return 1
	}
	return r.execute(ctx, command, r.environment(outcomes))
}

func (r *runner) startAll(ctx context.Context, wanted []part) []outcome {
	outcomes := make([]outcome, 0, len(wanted))
	for _, p := range wanted {
		started, err := r.startOne(ctx, p)
		if err != nil {
			r.say("%s: %v", p.name(), err)
		}
		outcomes = append(outcomes, outcome{name: p.name(), running: started, err: err})
	}
	return outcomes
}

func (r *runner) startOne(ctx context.Context, p part) (*running, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	say := func(format string, args ...any) { r.say(p.name()+": "+format, args...) }
	if err := p.find(ctx, say); err != nil {
		return nil, err
	}
	dir := filepath.Join(r.dir, p.name())
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	return p.start(ctx, dir)
}

// stopAll stops the parts, last started first, and reports whether all of them
// had lived until then.
func (r *runner) stopAll(outcomes []outcome) bool {
	ok := true
	for i := len(outcomes) - 1; i >= 0; i-- {
		o := &outcomes[i]
		if o.running == nil || o.running.stop == nil {
			continue
		}
		if err := o.running.stop(); err != nil {
			r.say("%s: %v", o.name, err)
			o.err = err
			ok = false
		}
	}
	return ok
}

// countsVariable tells tests the file to which they add what they counted.
const countsVariable = "FSMGEN_COUNTS"

func (r *runner) countsFile() string { return filepath.Join(r.dir, "counts") }

// environment is the runner's own with the parts' addresses. Tests may skip
// for want of a part only when not every part is there.
func (r *runner) environment(outcomes []outcome) []string {
	require := requireVariable + "="
	if len(outcomes) == len(r.known) && len(missingParts(outcomes)) == 0 {
		require += "1"
	}
	env := append(os.Environ(), require, countsVariable+"="+r.countsFile())
	for _, o := range outcomes {
		if o.running != nil {
			env = append(env, o.running.env...)
		} else if reason := o.dispensable(); reason != nil {
			env = append(env, reason.env...)
		}
	}
	return env
}

// execute runs the command in a process group of its own, so that stopping it
// stops what it started too.
func (r *runner) execute(ctx context.Context, command, env []string) int {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Dir = r.root
	cmd.Env = env
	cmd.Stdout, cmd.Stderr = r.stdout, r.stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	dieWithParent(cmd.SysProcAttr, syscall.SIGTERM)
	runtime.LockOSThread() // the parent that it dies with is this thread
	defer runtime.UnlockOSThread()
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = commandGrace

	err := cmd.Run()
	if ctx.Err() != nil && cmd.Process != nil {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // none left is the usual answer
	}
	return r.exitCode(err)
}

func (r *runner) exitCode(err error) int {
	if err == nil {
		return 0
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		r.say("%v", err)
		return 1
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return exit.ExitCode()
}

func (r *runner) say(format string, args ...any) {
	fmt.Fprintf(r.stderr, "parts: "+format+"\n", args...)
}

// missingParts names the parts that could not be had and should have been.
func missingParts(outcomes []outcome) []string {
	var names []string
	for _, o := range outcomes {
		if o.running == nil && o.dispensable() == nil {
			names = append(names, o.name)
		}
	}
	return names
}
