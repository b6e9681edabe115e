package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/tools/internal/hung"
)

// beFirstProcess is the life of the guest: set up, run the test, tell its exit
// code, end. Without a verdict the runner reports the console.
func beFirstProcess() {
	code, err := liveGuest()
	if err != nil {
		fmt.Println("guest:", err)
	} else if err := tell(verdictLine, fmt.Appendf(nil, verdictFormat, code)); err != nil {
		fmt.Println("guest:", err)
	}
	if console, err := os.OpenFile(consoleLine, os.O_WRONLY|unix.O_NOCTTY, 0); err == nil {
		_ = drain(console) // what is lost is only the explanation
	}
	unix.Sync()
	err = unix.Reboot(unix.LINUX_REBOOT_CMD_RESTART)
	fmt.Println("guest: reboot:", err)
	os.Exit(exitRunner) // the kernel panics without its first process, and reboots
}

func liveGuest() (int, error) {
	if err := mountAll(); err != nil {
		return 0, err
	}
	data, err := os.ReadFile("/" + planFile)
	if err != nil {
		return 0, err
	}
	var p plan
	if err := json.Unmarshal(data, &p); err != nil {
		return 0, err
	}
	for _, m := range p.Modules {
		if err := load(m); err != nil {
			return 0, fmt.Errorf("load module %s: %w", m.Name, err)
		}
	}
	return runTest(p)
}

func mountAll() error {
	for _, m := range []struct{ at, kind, options string }{
		{"/dev", "devtmpfs", ""}, {"/proc", "proc", ""}, {"/sys", "sysfs", ""}, {"/tmp", "tmpfs", "size=75%,mode=1777"},
	} {
		if err := os.MkdirAll(m.at, 0o755); err != nil {
			return err
		}
		// The kernel may have mounted /dev itself.
		if err := unix.Mount(m.kind, m.at, m.kind, 0, m.options); err != nil && !errors.Is(err, unix.EBUSY) {
			return fmt.Errorf("mount %s: %w", m.at, err)
		}
	}
	return nil
}

func load(m module) error {
	file, err := os.Open(filepath.Join("/", moduleFolder, m.Name))
	if err != nil {
		return err
	}
	defer file.Close()
	return unix.FinitModule(int(file.Fd()), m.Parameters, 0)
}

func runTest(p plan) (int, error) {
	output, err := openLine(outputLine)
	if err != nil {
		return 0, err
	}
	defer output.Close()
	cmd := exec.Command("/"+testBinary, p.Arguments...)
	cmd.Dir = "/" + testFolder
	cmd.Env = append([]string{"PATH=/usr/sbin", "HOME=/tmp", "TMPDIR=/tmp", "INSIDE_GUEST=1"}, p.Variables...)
	cmd.Stdout, cmd.Stderr = output, output
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	err = hung.Wait(cmd, func() { fmt.Println(atWork) }, func(line string) { fmt.Fprintln(output, "guest:", line) })
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return 0, err
	}
	if err := drain(output); err != nil {
		return 0, err
	}
	if err := sendProfile(); err != nil {
		return 0, err
	}
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		fmt.Fprintln(output, "signal:", status.Signal())
		return 128 + int(status.Signal()), drain(output)
	}
	return status.ExitStatus(), nil
}

func sendProfile() error {
	profile, err := os.ReadFile(guestProfile)
	if err != nil {
		return nil // none was asked for, or the test did not get that far
	}
	return tell(profileLine, profile)
}

func tell(line string, data []byte) error {
	file, err := openLine(line)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Write(data); err != nil {
		return err
	}
	return drain(file)
}

// openLine opens a serial line that passes every byte as it is.
func openLine(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	settings, err := unix.IoctlGetTermios(int(file.Fd()), unix.TCGETS)
	if err == nil {
		settings.Oflag &^= unix.OPOST
		err = unix.IoctlSetTermios(int(file.Fd()), unix.TCSETS, settings)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("serial line %s: %w", path, err), file.Close())
	}
	return file, nil
}

// drain waits until everything that was written has left the line.
func drain(line *os.File) error {
	return unix.IoctlSetInt(int(line.Fd()), unix.TCSBRK, 1)
}
