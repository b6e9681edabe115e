package output

import (
	"crypto/rand"
	"fmt"
	"os"
	"path"
)

// Apply makes the folder what the plan says. If writing fails, nothing has
// changed.
func (p Plan) Apply() (err error) {
	if len(p.Changes) == 0 {
		return nil
	}
	if err := os.MkdirAll(p.Dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(p.Dir)
	if err != nil {
		return err
	}
	defer root.Close()

	// From here to the renames, the folder differs only by new files beside
	// the old ones.
	beside := map[string]string{}
	defer func() {
		if err != nil {
			for _, temp := range beside {
				_ = root.Remove(temp) // what cannot be removed carries our header: the next run does it
			}
		}
	}()
	for _, c := range p.Changes {
		if c.Kind == Left {
			continue
		}
		temp, err := writeBeside(root, c)
		if err != nil {
			return err
		}
		beside[c.Path] = temp
	}
	for _, c := range p.Changes {
		if c.Kind == Left {
			if err := root.Remove(c.Path); err != nil {
				return err
			}
			removeEmpty(root, path.Dir(c.Path))
			continue
		}
		if err := root.Rename(beside[c.Path], c.Path); err != nil {
			return err
		}
		delete(beside, c.Path)
	}
	return nil
}

// writeBeside writes the data of c to a new file in the folder of c.
func writeBeside(root *os.Root, c Change) (string, error) {
	dir, base := path.Split(c.Path)
	if dir != "" {
		if err := root.MkdirAll(path.Clean(dir), 0o755); err != nil {
			return "", err
		}
	}
	temp := dir + "." + base + "." + rand.Text()
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return "", err
	}
	if _, err := f.Write(c.data); err != nil {
		f.Close()
		_ = root.Remove(temp)
		return "", fmt.Errorf("write %s: %w", c.Path, err)
	}
	if err := f.Close(); err != nil {
		_ = root.Remove(temp)
		return "", fmt.Errorf("write %s: %w", c.Path, err)
	}
	return temp, nil
}

// removeEmpty removes dir and its parents as long as they are empty.
func removeEmpty(root *os.Root, dir string) {
	for ; dir != "."; dir = path.Dir(dir) {
		if root.Remove(dir) != nil {
			return
		}
	}
}
