//go:build unix

package extract_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A cage is a root with something around it that must stay as it is.
type cage struct {
	base, root, outside string
	before              map[string]string
}

func newCage(t testing.TB) *cage {
	t.Helper()
	c := &cage{base: t.TempDir()}
	c.root, c.outside = filepath.Join(c.base, "root"), filepath.Join(c.base, "outside")
	for _, dir := range []string{c.root, filepath.Join(c.outside, "dir")} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"outside/file", "outside/dir/inner", "beside"} {
		if err := os.WriteFile(filepath.Join(c.base, file), []byte("canary"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("file", filepath.Join(c.outside, "link")); err != nil {
		t.Fatal(err)
	}
	c.before = c.around(t)
	return c
}

// around describes everything beside the root: kind, rights, owner, length,
// inode, number of links, times of change, content.
func (c *cage) around(t testing.TB) map[string]string {
	t.Helper()
	seen := map[string]string{}
	err := filepath.WalkDir(c.base, func(name string, d fs.DirEntry, err error) error {
		if err != nil || name == c.base {
			return err
		}
		if name == c.root {
			return fs.SkipDir
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		st := info.Sys().(*syscall.Stat_t)
		text := fmt.Sprintf("%v uid=%d gid=%d size=%d inode=%d links=%d modified=%v",
			info.Mode(), st.Uid, st.Gid, info.Size(), st.Ino, st.Nlink, info.ModTime().UnixNano())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			text += fmt.Sprintf(" %q", content)
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(name)
			if err != nil {
				return err
			}
			text += " -> " + target
		}
		seen[strings.TrimPrefix(name, c.base)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return seen
}

// intact fails if anything outside of the root is not as it was.
func (c *cage) intact(t testing.TB) {
	t.Helper()
	after := c.around(t)
	for _, name := range slices.Sorted(maps.Keys(c.before)) {
		if after[name] != c.before[name] {
			t.Errorf("outside of the root: %q was %s and is %s", name, c.before[name], after[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		if c.before[name] == "" {
			t.Errorf("outside of the root: %q is new: %s", name, after[name])
		}
	}
}

// A canary that notices nothing proves nothing.
func TestTheCanarySings(t *testing.T) {
	for name, harm := range map[string]func(c *cage) error{
		"new file":  func(c *cage) error { return os.WriteFile(c.outside+"/new", nil, 0o644) },
		"rewritten": func(c *cage) error { return os.WriteFile(c.outside+"/file", []byte("CANARY"), 0o644) },
		"removed":   func(c *cage) error { return os.Remove(c.outside + "/dir/inner") },
		"linked":    func(c *cage) error { return os.Link(c.outside+"/file", c.root+"/stolen") },
		"rights":    func(c *cage) error { return os.Chmod(c.outside+"/dir", 0o700) },
		"bent":      func(c *cage) error { return os.Symlink("elsewhere", c.base+"/new") },
	} {
		c := newCage(t)
		if err := harm(c); err != nil {
			t.Fatal(err)
		}
		noticed := &deaf{TB: t}
		c.intact(noticed)
		if noticed.failures == 0 {
			t.Errorf("%s: nothing was noticed", name)
		}
	}
}

// deaf counts failures instead of failing.
type deaf struct {
	testing.TB
	failures int
}

func (d *deaf) Errorf(string, ...any) { d.failures++ }
