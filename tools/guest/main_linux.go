package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// options are the flags of the command.
type options struct {
	kernel    string
	qemu      string
	memory    string
	modules   list
	programs  list
	variables list
	binary    string
}

// A list is a flag that may be given several times.
type list []string

func (l *list) String() string         { return strings.Join(*l, ", ") }
func (l *list) Set(value string) error { *l = append(*l, value); return nil }

func main() {
	if os.Getpid() == 1 {
		beFirstProcess()
	}
	// QEMU is killed with the thread that started it, which has to be this one.
	runtime.LockOSThread()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT)
	defer cancel()
	code, err := run(ctx, os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "guest:", err)
	}
	os.Exit(code)
}

func parseOptions(args []string) (options, []string, error) {
	var o options
	flags := flag.NewFlagSet("guest", flag.ContinueOnError)
	flags.StringVar(&o.kernel, "kernel", "", "the `folder` that a Debian kernel package was unpacked into")
	flags.StringVar(&o.qemu, "qemu", "qemu-system-x86_64", "the emulator")
	flags.StringVar(&o.memory, "memory", "512", "of the guest, in `MiB`")
	flags.Var(&o.modules, "module", "kernel `module` to load beside those of loop and device-mapper, with parameters after a space (repeatable)")
	flags.Var(&o.programs, "program", "`program` of the host to take along with its libraries (repeatable)")
	flags.Var(&o.variables, "env", "`K=V` for the test (repeatable)")
	if err := flags.Parse(args); err != nil {
		return o, nil, err
	}
	if flags.NArg() == 0 {
		return o, nil, errors.New("usage: go test -exec \"guest -kernel DIR [-program NAME]... [-module NAME]...\" PACKAGE")
	}
	o.modules = append(list{"loop max_loop=8", "dm-thin-pool"}, o.modules...)
	o.binary = flags.Arg(0)
	return o, flags.Args()[1:], nil
}

// run returns the exit code of the test.
func run(ctx context.Context, args []string) (int, error) {
	o, rest, err := parseOptions(args)
	if err != nil {
		return exitRunner, err
	}
	in, err := readArguments(rest)
	if err != nil {
		return exitRunner, err
	}
	k, err := openKernel(o.kernel)
	if err != nil {
		return exitRunner, err
	}
	root, err := buildRoot(k, o, in)
	if err != nil {
		return exitRunner, err
	}
	dir, err := os.MkdirTemp("", "fsmgen-guest-")
	if err != nil {
		return exitRunner, err
	}
	defer os.RemoveAll(dir)
	m := machine{dir: dir, qemu: o.qemu, kernel: k.image, memory: o.memory, root: filepath.Join(dir, "root.cpio")}
	if err := os.WriteFile(m.root, root, 0o600); err != nil {
		return exitRunner, err
	}
	return m.run(ctx, in)
}
