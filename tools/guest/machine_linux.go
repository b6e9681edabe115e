package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// A guest whose console grew in none of so many looks is stopped. A test that hangs
// has been ended within the guest by then.
const (
	lookAgain = time.Second
	patience  = 1000
)

// A machine is one guest, from its boot to its end.
type machine struct {
	dir    string // for what the guest tells
	qemu   string
	kernel string
	memory string
	root   string
}

var errHung = errors.New("the guest had not worked for a long time and was stopped")

// run boots the guest and returns the test's exit code, or exitRunner and why
// there is none.
func (m *machine) run(ctx context.Context, in invocation) (int, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	cmd := exec.CommandContext(ctx, m.qemu, m.arguments()...)
	// The test's output passes through QEMU's standard output as it comes.
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	look := time.NewTicker(lookAgain) // a tick that comes too late counts once
	defer look.Stop()
	go func() {
		if stuck(ctx, look.C, m.consoleSize) {
			cancel(errHung)
		}
	}()
	ended := cmd.Run()
	if err := m.bringProfile(in.profile); err != nil {
		return exitRunner, err
	}
	code, ok := m.verdict()
	if ok {
		return code, nil
	}
	if cause := context.Cause(ctx); cause != nil {
		ended = cause
	}
	return exitRunner, m.noVerdict(ended)
}

// stuck reports that the size of the console has stayed the same for patience looks,
// or false once ctx has ended.
func stuck(ctx context.Context, look <-chan time.Time, size func() int64) bool {
	seen, same := size(), 0
	for same < patience {
		select {
		case <-ctx.Done():
			return false
		case <-look:
		}
		same++
		if now := size(); now != seen {
			seen, same = now, 0
		}
	}
	return true
}

// consoleSize is 0 before there is a console.
func (m *machine) consoleSize() int64 {
	console, err := os.Stat(m.file("console"))
	if err != nil {
		return 0
	}
	return console.Size()
}

func (m *machine) arguments() []string {
	return []string{
		"-nodefaults", "-no-user-config", "-display", "none", "-no-reboot",
		// A KVM that is present may be unusable; the emulator always works.
		"-accel", "tcg", "-cpu", "max", "-smp", "1", "-m", m.memory, "-M", "q35",
		"-kernel", m.kernel, "-initrd", m.root,
		// A panic reboots at once, and -no-reboot makes that the end of QEMU. On a
		// host that is busy the kernel would find its timer too slow, and panic.
		"-append", "console=ttyS0 reboot=t panic=-1 quiet cryptomgr.notests no_timer_check",
		"-serial", "file:" + m.file("console"),
		"-chardev", "stdio,id=output,signal=off", "-serial", "chardev:output",
		"-serial", "file:" + m.file("verdict"),
		"-serial", "file:" + m.file("profile"),
	}
}

func (m *machine) file(name string) string { return filepath.Join(m.dir, name) }

// verdict reads the test's exit code. A line that was cut short is none.
func (m *machine) verdict() (int, bool) {
	line, err := os.ReadFile(m.file("verdict"))
	if err != nil {
		return 0, false
	}
	var code int
	n, err := fmt.Sscanf(string(line), verdictFormat, &code)
	return code, n == 1 && err == nil
}

// bringProfile moves the coverage to where the host wants it. A test that did
// not end well has none.
func (m *machine) bringProfile(to string) error {
	profile, err := os.ReadFile(m.file("profile"))
	if to == "" || err != nil || len(profile) == 0 {
		return nil
	}
	return os.WriteFile(to, profile, 0o644)
}

func (m *machine) noVerdict(ended error) error {
	console, _ := os.ReadFile(m.file("console")) // none is told as an empty one
	worked := bytes.Count(console, []byte(atWork))
	console = bytes.ReplaceAll(console, []byte(atWork+"\r\n"), nil) // as the line sends it
	if ended == nil {
		ended = errors.New("it ended by itself")
	}
	return fmt.Errorf("the guest ended without the test's exit code after it was seen at work %d times: %w\n---- its console\n%s\n----", worked, ended, bytes.TrimSpace(console))
}
