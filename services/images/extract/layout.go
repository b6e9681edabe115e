package extract

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// Layout says which of the directories that document 002 wants in an image are
// there. A link to a directory is none.
type Layout struct {
	Rootfs, Etc, Usr, Var bool
}

// Complete reports whether none is missing.
func (l Layout) Complete() bool { return l == Layout{true, true, true, true} }

// String lists those that are there.
func (l Layout) String() string {
	var there []string
	for _, d := range []struct {
		is   bool
		name string
	}{{l.Rootfs, "rootfs"}, {l.Etc, "etc"}, {l.Usr, "usr"}, {l.Var, "var"}} {
		if d.is {
			there = append(there, d.name)
		}
	}
	return cmp.Or(strings.Join(there, ", "), "none")
}

// ReadLayout looks at a root that was extracted.
func ReadLayout(root string) (Layout, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return Layout{}, fmt.Errorf("read the layout: %w", err)
	}
	defer r.Close()
	var failed error
	l := layoutOf(func(name string) bool {
		info, err := r.Lstat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = errors.Join(failed, err)
		}
		return err == nil && info.IsDir()
	})
	if failed != nil {
		return Layout{}, fmt.Errorf("read the layout: %w", failed)
	}
	return l, nil
}

func layoutOf(isDir func(name string) bool) Layout {
	return Layout{Rootfs: isDir("rootfs"), Etc: isDir("etc"), Usr: isDir("usr"), Var: isDir("var")}
}
