//go:build unix

package extract_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// describe tells all that a tree is: kinds, rights, owners, times, contents,
// targets, extended attributes, which names are one file, and holes.
func describe(t *testing.T, root string) map[string]string {
	t.Helper()
	tree, first := map[string]string{}, map[uint64]string{}
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		short := strings.TrimPrefix(name, root)
		text := fmt.Sprintf("%v %d:%d modified %d", info.Mode(), st.Uid, st.Gid, info.ModTime().UnixNano())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %d bytes %x", len(content), sha256.Sum256(content))
			if other := first[st.Ino]; other != "" {
				text += " is " + other
			}
			first[st.Ino] = short
			if st.Blocks*512 < info.Size() {
				text += " with holes"
			}
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " -> " + target
		case info.Mode()&fs.ModeDevice != 0:
			text += fmt.Sprintf(" device %d", st.Rdev)
		}
		tree[short] = text + xattrsOf(t, name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func xattrsOf(t *testing.T, name string) string {
	t.Helper()
	list := make([]byte, 4096)
	n, err := unix.Llistxattr(name, list)
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, attr := range strings.Split(strings.TrimSuffix(string(list[:n]), "\x00"), "\x00") {
		value := make([]byte, 4096)
		if n, err := unix.Lgetxattr(name, attr, value); err == nil {
			text += fmt.Sprintf(" %s=%q", attr, value[:n])
		}
	}
	return text
}

func same(t *testing.T, got, want map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%q\n got %s\nwant %s", name, got[name], want[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if want[name] == "" {
			t.Errorf("%q is too much: %s", name, got[name])
		}
	}
}

// image makes a tree with everything that an image may hold.
func image(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	run(t, root, "sh", "-e", "-c", `
		mkdir -p rootfs etc/conf.d usr/bin usr/lib var/tmp 'odd names'
		printf hello > etc/hostname
		printf '#!/bin/sh\n' > usr/bin/run; chmod 4755 usr/bin/run
		head -c 700000 /dev/urandom > usr/lib/big
		ln usr/lib/big usr/lib/big.1; ln usr/lib/big rootfs/big
		ln -s /usr/lib usr/lib64; ln -s ../../../nowhere etc/conf.d/dangling; ln -s . etc/self
		printf x > 'odd names/new
line'; printf y > 'odd names/back\slash'; printf z > 'odd names/-rf *'
		printf ü > "odd names/$(printf '\377')"; printf e > odd\ names/é
		: > var/empty
		truncate -s 9M var/hole; printf end >> var/hole
		truncate -s 2M var/onlyhole
		long=$(printf 'd%.0s' $(seq 90)); mkdir -p "var/$long/$long"; printf deep > "var/$long/$long/file"
		chmod 1777 var/tmp; chmod 2750 etc/conf.d; chmod 400 var/empty
		touch -h -d '1999-12-31 23:59:59.123456789' etc/hostname usr/lib64
		touch -d '2001-02-03 04:05:06' usr/lib usr var etc .
		touch -d '1969-07-20 20:17:40' var/empty`)
	if err := unix.Setxattr(root+"/etc/hostname", "user.origin", []byte("a\x00b\n=c"), 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Setxattr(root+"/usr", "user.of.a.directory", []byte("yes"), 0); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		run(t, root, "sh", "-e", "-c", `chown 1234:5678 etc/hostname; chown -h 77:88 usr/lib64; chown 4294967294:3000000000 var/empty
			chown 12:34 var; chown 0:42 usr/bin/run; chmod 4755 usr/bin/run; chmod 0 var/empty; chmod 555 usr/lib; touch -d '2001-02-03 04:05:06' usr usr/lib`)
		capability := []byte{1, 0, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} // cap_net_bind_service
		if err := unix.Setxattr(root+"/usr/lib/big", "security.capability", capability, 0); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	cmd := exec.Command(program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", program, err, out)
	}
}
