//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// act says what TestAct does in the guest.
const actVariable = "ACT"

// What a test prints, with bytes that a terminal would change.
const printed = "one\n\ttwo\r\n\x00\x1b[0m\xff\xfe three \n"

// TestAct is what TestGuest runs in guests.
func TestAct(t *testing.T) {
	switch act := os.Getenv(actVariable); act {
	case "":
		t.Log("TestGuest runs this in a guest")
	case "print":
		fmt.Print(printed)
		fmt.Fprint(os.Stderr, "and an error\n")
		if data, err := os.ReadFile("testdata/deep/file"); err != nil || string(data) != "beside the test\n" {
			t.Errorf("testdata: %q, %v", data, err)
		}
		if os.Getpid() == 1 || os.Geteuid() != 0 {
			t.Error("the test is the first process, or not root")
		}
	case "exit":
		os.Exit(7)
	case "hang":
		select {}
	case "killed":
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		select {}
	case "panic":
		var used syscall.Rusage
		for used.Utime.Sec < 12 { // it works before that
			if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile("/proc/sysrq-trigger", []byte("c"), 0); err != nil {
			t.Fatal(err)
		}
	default:
		t.Fatalf("%s=%s", actVariable, act)
	}
}

// inGuest runs TestAct in a guest and returns its exit code, its output and
// what the runner said.
func inGuest(t *testing.T, binary, act string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	runner := os.Getenv("FSMGEN_GUEST") // words for a shell
	args = append([]string{"-c", runner + ` "$@"`, "sh", "-env", actVariable + "=" + act, binary, "-test.run=^TestAct$"}, args...)
	cmd := exec.CommandContext(t.Context(), "sh", args...)
	var out, said strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), said.String()
}

func TestGuest(t *testing.T) {
	switch runner := os.Getenv("FSMGEN_GUEST"); {
	case runner == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") != "":
		t.Fatal("FSMGEN_GUEST is not set")
	case runner == "":
		t.Skip("FSMGEN_GUEST is not set: run under tools/parts")
	}
	binary := filepath.Join(t.TempDir(), "guest.test")
	build := exec.Command("go", "test", "-c", "-cover", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, test := range map[string]func(*testing.T, string){
		"Output": testOutput, "ExitCodes": testExitCodes, "Timeout": testTimeout, "KernelPanic": testKernelPanic, "Refusals": testRefusals,
	} {
		t.Run(name, func(t *testing.T) { test(t, binary) })
	}
}

func testOutput(t *testing.T, binary string) {
	profile := filepath.Join(t.TempDir(), "cover")
	code, out, said := inGuest(t, binary, "print", "-test.coverprofile="+profile)
	if code != 0 || !strings.HasPrefix(out, printed+"and an error\nPASS\n") || said != "" {
		t.Errorf("exit code %d, output %q, error output %q", code, out, said)
	}
	if data, err := os.ReadFile(profile); err != nil || !strings.HasPrefix(string(data), "mode: ") || !strings.HasSuffix(string(data), "\n") {
		t.Errorf("the coverage begins %.40q, %v", data, err)
	}
}

func testExitCodes(t *testing.T, binary string) {
	for act, want := range map[string]int{"exit": 7, "killed": 128 + int(syscall.SIGKILL)} {
		if code, out, said := inGuest(t, binary, act); code != want || said != "" {
			t.Errorf("%s: exit code %d, want %d; output %q, error output %q", act, code, want, out, said)
		}
	}
}

// A test with a time limit that hangs ends itself and says where; the guest is not cut
// short.
func testTimeout(t *testing.T, binary string) {
	code, out, _ := inGuest(t, binary, "hang", "-test.timeout=1s")
	if code != 2 || !strings.Contains(out, "test timed out after 1s") || !strings.Contains(out, "TestAct") {
		t.Errorf("exit code %d, output %q", code, out)
	}
}

func testKernelPanic(t *testing.T, binary string) {
	code, _, said := inGuest(t, binary, "panic")
	if code != exitRunner || !strings.Contains(said, "without the test's exit code") || !strings.Contains(said, "sysrq triggered crash") || strings.Contains(said, "at work 0 times") {
		t.Errorf("exit code %d, error output %q", code, said)
	}
}

func testRefusals(t *testing.T, binary string) {
	code, _, said := inGuest(t, binary, "exit", "-test.cpuprofile=x")
	if code != exitRunner || !strings.Contains(said, "run without it") {
		t.Errorf("a profile: exit code %d, %q", code, said)
	}
	t.Setenv("FSMGEN_GUEST", os.Getenv("FSMGEN_GUEST")+" -qemu /bin/false")
	code, _, said = inGuest(t, binary, "exit")
	if code != exitRunner || !strings.Contains(said, "exit status 1") {
		t.Errorf("a QEMU that dies: exit code %d, %q", code, said)
	}
	t.Setenv("FSMGEN_GUEST", os.Getenv("FSMGEN_GUEST")+" -program no-such-program")
	if code, _, said = inGuest(t, binary, "exit"); code != exitRunner || !strings.Contains(said, "no-such-program") {
		t.Errorf("a program that is missing: exit code %d, %q", code, said)
	}
}
