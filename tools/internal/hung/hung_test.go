package hung

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// TestLooks: at each look a command has used so many ticks of the processor.
func TestLooks(t *testing.T) {
	for name, tt := range map[string]struct {
		used func(n int) int
		want []verdict // without those that say that it rests
	}{
		"always busy":                   {func(n int) int { return n * enough }, slices.Repeat([]verdict{working}, 2000)},
		"a hundredth of the processor":  {func(n int) int { return n }, slices.Repeat([]verdict{working}, 4)},
		"idle":                          {func(int) int { return 7 }, []verdict{mustEnd, mustDie}},
		"hardly anything":               {func(n int) int { return n / 10 }, []verdict{mustEnd, mustDie}},
		"less, as its children left it": {func(n int) int { return 10_000 - 5*n }, slices.Repeat([]verdict{working}, 20)},
		"the text at its end is no work": {func(n int) int {
			if n <= patience {
				return 0
			}
			return enough
		}, []verdict{mustEnd, mustDie}},
	} {
		t.Run(name, func(t *testing.T) {
			var w watch
			var got []verdict
			for n := 1; n <= 2000; n++ {
				if v := w.look(uint64(tt.used(n))); v != resting {
					got = append(got, v)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%d verdicts: %v, want %d", len(got), got, len(tt.want))
			}
		})
	}
}

func TestProcessor(t *testing.T) {
	proc := t.TempDir()
	for pid, stat := range map[string]string{
		"1":      "1 (init) S 0 1 1 0 -1 4194560 1 1 1 1 1000 1000 1000 1000 20 0",
		"20":     "20 (a.test) S 1 20 20 0 -1 4194560 1 1 1 1 1 2 30 40 20 0",
		"21":     "21 (odd) name) R 20 20 20 0 -1 4194560 1 1 1 1 100 200 0 0 20 0",
		"22":     "22 (below it) R 21 20 20 0 -1 4194560 1 1 1 1 1000 0 0 0 20 0",
		"30":     "30 (another) R 1 20 20 0 -1 4194560 1 1 1 1 9 9 9 9 20 0",
		"uptime": "",
	} {
		if err := os.MkdirAll(filepath.Join(proc, pid), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(proc, pid, "stat"), []byte(stat+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := processor(proc, 20); err != nil || got != 1+2+30+40+300+1000 {
		t.Errorf("used %d, %v", got, err)
	}
	if _, err := processor(proc, 31); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a process that is gone: %v", err)
	}
	if err := os.WriteFile(filepath.Join(proc, "30", "stat"), []byte("30 (another) R 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := processor(proc, 20); err == nil {
		t.Errorf("a line that is cut short: %d", got)
	}
}

// TestRealProcess has this process use some of the processor.
func TestRealProcess(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	before, err := processor("/proc", os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for after := before; after == before; {
		if after, err = processor("/proc", os.Getpid()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestHungCommandIsEnded looks at commands that sleep.
func TestHungCommandIsEnded(t *testing.T) {
	for script, want := range map[string]struct {
		signal syscall.Signal
		looks  int
		lines  int
	}{
		"echo ready; exec sleep 10000":               {syscall.SIGQUIT, patience, 1},
		"trap '' QUIT; echo ready; exec sleep 10000": {syscall.SIGKILL, patience + last, 2},
	} {
		t.Run(script, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command("sh", "-c", script)
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if _, err := io.ReadFull(out, make([]byte, len("ready\n"))); err != nil {
				t.Fatal(err)
			}
			look := make(chan time.Time)
			go func() {
				for range want.looks {
					look <- time.Time{}
				}
			}()
			said := 0
			err = wait(cmd, look, func() (uint64, error) { return 7, nil }, func() {}, func(string) { said++ })
			var exit *exec.ExitError
			if !errors.As(err, &exit) {
				t.Fatal(err)
			}
			if status, ok := exit.Sys().(syscall.WaitStatus); !ok || status.Signal() != want.signal || said != want.lines {
				t.Errorf("ended with %v after %d lines, want %v after %d", err, said, want.signal, want.lines)
			}
		})
	}
}

// TestHungGoTestSaysWhereItWaits: a test binary that waits for ever is ended, and says in which
// function each of its goroutines waits.
func TestHungGoTestSaysWhereItWaits(t *testing.T) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("this system has no /proc")
	}
	binary := filepath.Join(t.TempDir(), "hangs.test")
	if out, err := exec.Command("go", "test", "-c", "-o", binary, "./testdata/hangs").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.Command(binary, "-test.v", "-test.timeout=0")
	var out strings.Builder
	waits := make(chan struct{})
	cmd.Stdout = &watched{to: &out, text: "about to wait", seen: waits}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	look := make(chan time.Time)
	go func() {
		<-waits
		for range patience {
			look <- time.Time{}
		}
	}()
	used := func() (uint64, error) { return processor("/proc", cmd.Process.Pid) }
	err := wait(cmd, look, used, func() {}, func(string) {})
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		t.Fatalf("ended with %v:\n%s", err, out.String())
	}
	for _, want := range []string{"SIGQUIT", "hangs.waitForNothing("} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in what it printed:\n%s", want, out.String())
		}
	}
}

// watched closes seen when a text was written.
type watched struct {
	to   *strings.Builder
	text string
	seen chan struct{}
	once sync.Once
}

func (w *watched) Write(p []byte) (int, error) {
	w.to.Write(p)
	if strings.Contains(w.to.String(), w.text) {
		w.once.Do(func() { close(w.seen) })
	}
	return len(p), nil
}

func TestWaitReturnsTheExitCode(t *testing.T) {
	cmd := exec.Command("sh", "-c", "exit 7")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	err := Wait(cmd, func() {}, func(line string) { t.Error(line) })
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Error(err)
	}
}
