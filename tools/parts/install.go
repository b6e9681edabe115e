package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

// canInstall reports whether Debian packages may be installed here.
func canInstall() bool {
	_, err := exec.LookPath("apt-get")
	return err == nil && os.Geteuid() == 0
}

// installPackages installs Debian packages without asking anything, and starts no service
// of theirs. The lists are fetched first: a fresh machine has none.
func installPackages(ctx context.Context, packages ...string) error {
	if err := runQuietly(aptGet(ctx, "update")); err != nil {
		return err
	}
	return runQuietly(aptGet(ctx, append([]string{"install", "-y", "--no-install-recommends"}, packages...)...))
}

func aptGet(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "apt-get", append([]string{"-q"}, args...)...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "RUNLEVEL=1") // see invoke-rc.d(8)
	return cmd
}

// runQuietly runs a command whose output matters only when it fails.
func runQuietly(cmd *exec.Cmd) error {
	_, err := output(cmd)
	return err
}

// output returns what a command printed on standard output, trimmed. The error
// of a failed one carries the last lines of all that it printed.
func output(cmd *exec.Cmd) (string, error) {
	var out, all strings.Builder
	cmd.Stdout = io.MultiWriter(&out, &all)
	cmd.Stderr = &all
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w%s", strings.Join(cmd.Args, " "), err, lastLines(all.String(), 12))
	}
	return strings.TrimSpace(out.String()), nil
}

// lastLines returns the end of a text, set off for an error message.
func lastLines(text string, n int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) > n {
		lines = lines[len(lines)-n:]
	}
	return "\n    " + strings.Join(lines, "\n    ")
}
