package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// qemu is a guest with a kernel of its own for the tests that need one: an
// emulator, Debian's cloud kernel, the programs that tests use there, and the
// runner of tools/guest.
type qemu struct {
	tools    string // the folder of the module
	emulator string
	kernel   string // an unpacked kernel package
}

func (q *qemu) name() string { return "qemu" }

// qemuPackages are the packages of the programs that a guest needs.
var qemuPackages = []string{"qemu-system-x86", "e2fsprogs", "btrfs-progs", "dmsetup"}

func (q *qemu) find(ctx context.Context, say logger) error {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return fmt.Errorf("a guest runs programs of this machine, which has to be linux/amd64, not %s/%s", runtime.GOOS, runtime.GOARCH)
	}
	if err := q.findPrograms(ctx, say); err != nil {
		return err
	}
	if err := q.findKernel(ctx, say); err != nil {
		return err
	}
	// Static: the same binary is the first process of the guest.
	build := exec.CommandContext(ctx, "go", "build", "-o", q.runner(), "./guest")
	build.Dir = q.tools
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	return runQuietly(build)
}

func (q *qemu) runner() string { return filepath.Join(q.tools, "bin", "guest") }

func (q *qemu) findPrograms(ctx context.Context, say logger) error {
	missing := q.lookForPrograms()
	if missing == "" {
		return nil
	}
	packages := strings.Join(qemuPackages, ", ")
	if !canInstall() {
		return fmt.Errorf("there is no %s: install %s", missing, packages)
	}
	say("installing Debian's %s", packages)
	if err := installPackages(ctx, qemuPackages...); err != nil {
		return err
	}
	if missing := q.lookForPrograms(); missing != "" {
		return fmt.Errorf("%s were installed, yet there is no %s", packages, missing)
	}
	return nil
}

// lookForPrograms returns what is missing. The PATH often lacks the folder of
// the programs for root.
func (q *qemu) lookForPrograms() string {
	if q.emulator = qemuEmulator(); q.emulator == "" {
		return "qemu-system-x86_64"
	}
	for _, name := range []string{"mkfs.ext4", "mkfs.btrfs", "dmsetup"} {
		if _, err := exec.LookPath(name); err != nil && !isProgram("/usr/sbin/"+name) && !isProgram("/sbin/"+name) {
			return name
		}
	}
	return ""
}

// qemuEmulator returns the emulator: QEMU, or the one on the PATH.
func qemuEmulator() string {
	if named := os.Getenv("QEMU"); named != "" && isProgram(named) {
		return named
	}
	path, err := exec.LookPath("qemu-system-x86_64")
	if err != nil {
		return ""
	}
	return path
}

// findKernel takes the unpacked package that GUEST_KERNEL names, or fetches
// one, which takes no root but apt's lists. It is kept until make clean.
func (q *qemu) findKernel(ctx context.Context, say logger) error {
	if q.kernel = os.Getenv("GUEST_KERNEL"); q.kernel != "" {
		return nil
	}
	q.kernel = filepath.Join(q.tools, "bin", "kernel")
	if _, err := os.Stat(q.kernel); err == nil {
		return nil
	}
	say("fetching Debian's cloud kernel")
	if err := q.fetchKernel(ctx); err != nil {
		return fmt.Errorf("no kernel for the guest: %w\nunpack a package linux-image-cloud-amd64 and set GUEST_KERNEL to where it is", err)
	}
	return nil
}

// kernelPackage is Debian's name for its newest small kernel. What it depends
// on has the kernel, under a name that changes with every release.
const kernelPackage = "linux-image-cloud-amd64"

func (q *qemu) fetchKernel(ctx context.Context) error {
	if canInstall() {
		if err := runQuietly(aptGet(ctx, "update")); err != nil {
			return err
		}
	}
	list, err := output(exec.CommandContext(ctx, "apt-cache", "depends", kernelPackage))
	if err != nil {
		return err
	}
	name := kernelOf(list)
	if name == "" {
		return fmt.Errorf("%s depends on no kernel:\n%s", kernelPackage, list)
	}
	dir, err := os.MkdirTemp(filepath.Dir(q.kernel), "fetched-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	download := aptGet(ctx, "download", name)
	download.Dir = dir
	if err := runQuietly(download); err != nil {
		return err
	}
	packages, _ := filepath.Glob(filepath.Join(dir, "*.deb")) // the pattern is well formed
	if len(packages) != 1 {
		return fmt.Errorf("apt-get downloaded %q", packages)
	}
	unpacked := filepath.Join(dir, "root")
	if err := runQuietly(exec.CommandContext(ctx, "dpkg", "-x", packages[0], unpacked)); err != nil {
		return err
	}
	return os.Rename(unpacked, q.kernel)
}

// kernelOf reads the name of the kernel's package from apt-cache depends.
func kernelOf(list string) string {
	for line := range strings.SplitSeq(list, "\n") {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "Depends: linux-image-"); ok {
			return "linux-image-" + name
		}
	}
	return ""
}

func (q *qemu) start(ctx context.Context, _ string) (*running, error) {
	version, err := output(exec.CommandContext(ctx, q.emulator, "--version"))
	if err != nil {
		return nil, err
	}
	images, _ := filepath.Glob(filepath.Join(q.kernel, "boot", "vmlinuz-*")) // the pattern is well formed
	if len(images) != 1 {
		return nil, fmt.Errorf("%s should hold one kernel and holds %d: remove it, or set GUEST_KERNEL", q.kernel, len(images))
	}
	return &running{
		version: qemuVersion(version),
		where:   "ready, kernel " + strings.TrimPrefix(filepath.Base(images[0]), "vmlinuz-"),
		env:     []string{fmt.Sprintf("FSMGEN_GUEST='%s' -qemu '%s' -kernel '%s' -program mkfs.ext4", q.runner(), q.emulator, q.kernel)},
	}, nil
}

// qemuVersion reads 7.2.22 from "QEMU emulator version 7.2.22 (Debian ...)".
func qemuVersion(text string) string {
	_, version, _ := strings.Cut(text, "version ")
	if words := strings.Fields(version); len(words) > 0 {
		return words[0]
	}
	return text
}
