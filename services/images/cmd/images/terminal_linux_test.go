package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestBarsOnATerminal: on a terminal a bar is drawn over and taken away in the
// end; elsewhere, and where TERM is dumb, there are plain lines.
func TestBarsOnATerminal(t *testing.T) {
	for name, tt := range map[string]struct {
		terminal, bars bool
		term           string
	}{
		"terminal":      {true, true, "xterm"},
		"dumb terminal": {true, false, "dumb"},
		"pipe":          {false, false, "xterm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			archive, err := archiveOf(4 << 20)
			bucket := filepath.Join(dir, "images-data", "bucket", "images")
			err = errors.Join(err, os.MkdirAll(bucket, 0o755), os.WriteFile(filepath.Join(bucket, "a.tar"), archive, 0o644))
			if err != nil {
				t.Fatal(err)
			}
			c := exec.Command("images", "process-image", "--s3-key", "a.tar")
			c.Dir, c.Env = dir, append(os.Environ(), "TERM="+tt.term)
			shown := strings.ReplaceAll(shownBy(t, c, tt.terminal), "\r\n", "\n") // as a terminal has it
			drawn := strings.Contains(shown, "\r") && strings.Contains(shown, "%")
			plain := strings.Contains(shown, ": done\n") && !strings.ContainsAny(shown, "\r\x1b%")
			if drawn != tt.bars || plain == tt.bars {
				t.Errorf("it showed %q", shown)
			}
		})
	}
}

// shownBy runs a command and returns what it wrote to its standard error.
func shownBy(t *testing.T, c *exec.Cmd, terminal bool) string {
	t.Helper()
	if !terminal {
		var out strings.Builder
		c.Stderr = &out
		if err := c.Run(); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
		return out.String()
	}
	master, slave := openTerminal(t)
	c.Stderr = slave
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	shown, err := io.ReadAll(master) // EIO: the other end is closed
	if err != nil && !errors.Is(err, syscall.EIO) {
		t.Error(err)
	}
	if err := c.Wait(); err != nil {
		t.Fatalf("%v: %s", err, shown)
	}
	return string(shown)
}

// openTerminal returns both ends of a new pseudoterminal.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	number, failed := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err, failed, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 100}))
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}
