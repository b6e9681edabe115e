package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestKernelOf(t *testing.T) {
	list := "linux-image-cloud-amd64\n  Depends: linux-image-6.1.0-56-cloud-amd64\n  Recommends: linux-image-other\n"
	if name := kernelOf(list); name != "linux-image-6.1.0-56-cloud-amd64" {
		t.Errorf("the kernel is %q", name)
	}
	if name := kernelOf("linux-image-cloud-amd64\n  Conflicts: linux-image-6\n"); name != "" {
		t.Errorf("the kernel is %q", name)
	}
}

func TestQemuVersion(t *testing.T) {
	for text, want := range map[string]string{
		"QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u15)\nCopyright (c)": "7.2.22",
		"something else": "something else",
	} {
		if got := qemuVersion(text); got != want {
			t.Errorf("%q is version %q", text, got)
		}
	}
}

// A kernel that was named is not replaced, and one that isn't there is told.
func TestQemuWithoutItsKernel(t *testing.T) {
	t.Setenv("GUEST_KERNEL", t.TempDir())
	q := &qemu{emulator: "echo"}
	if err := q.findKernel(t.Context(), t.Logf); err != nil {
		t.Fatal(err)
	}
	if _, err := q.start(t.Context(), ""); err == nil || !strings.Contains(err.Error(), "GUEST_KERNEL") {
		t.Errorf("error = %v", err)
	}
}

// The runner says no to a test that it can't run, without booting.
func TestGuestRunnerIsThere(t *testing.T) {
	runner := address(t, "FSMGEN_GUEST")
	folder, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(runner, filepath.Join(filepath.Dir(folder), "bin", "guest")) {
		t.Errorf("the runner is %s", runner)
	}
	out, err := exec.Command("sh", "-c", runner+" no-such-test").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no-such-test") {
		t.Errorf("a test that isn't there: %v, %s", err, out)
	}
}
