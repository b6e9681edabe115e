package extract

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// Layout says which of the directories that document 002 wants in an image are
// there. A link to a directory is none.
type Layout struct {
	Rootfs, Etc, Usr, Var bool
}

// Complete reports whether none is missing.
func (l Layout) Complete() bool { return l == Layout{true, true, true, true} }

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
