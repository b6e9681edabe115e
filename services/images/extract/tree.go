//go:build unix

package extract

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// A tree writes entries below a root. It keeps the directories from the root to
// the one that was written last open; each was opened from the one above it,
// without following a link, so no name has to be walked again and none can be
// bent. What changes in a directory changes its times: they are put right when
// the tree leaves it.
type tree struct {
	checker *checker
	root    *os.Root // for what is rare: removing what earlier layers left
	dirs    []dir    // from the root down
	owned   bool     // owners can be set
	flush   *flusher // nil: when it is on the disk does not matter
	buffer  []byte
}

// dir is a directory that is open.
type dir struct {
	path  string // "." is the root
	fd    int
	made  bool             // just now
	entry *entry           // its own, if that was read since it was opened
	times [2]unix.Timespec // that it had, if it was not made just now
}

func openTree(name string, c *checker) (*tree, error) {
	root, err := os.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	t := &tree{checker: c, root: root, owned: os.Geteuid() == 0, buffer: make([]byte, chunk)}
	fd, err := retried(func() (int, error) { return unix.Open(name, openDir&^unix.O_NOFOLLOW, 0) })
	if err != nil {
		root.Close()
		return nil, err
	}
	t.dirs = []dir{{path: ".", fd: fd}}
	if c.o.Sync {
		t.flush = &flusher{fd: fd}
	}
	c.layered, err = isUsed(root)
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

const openDir = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// isUsed reports whether a root holds anything but what mkfs put there.
func isUsed(root *os.Root) (bool, error) {
	d, err := root.Open(".")
	if err != nil {
		return false, err
	}
	defer d.Close()
	names, err := d.Readdirnames(2)
	if err != nil && !errors.Is(err, io.EOF) {
		return false, err
	}
	return len(names) > 1 || len(names) == 1 && names[0] != "lost+found", nil
}

// finish leaves all directories.
func (t *tree) finish() error {
	for len(t.dirs) > 1 {
		if err := t.leave(); err != nil {
			return err
		}
	}
	if err := t.settleDir(t.dirs[0], t.dirs[0].fd, "."); err != nil {
		return err
	}
	if t.flush == nil {
		return nil
	}
	if err := errors.Join(t.flush.wait(), syncFS(t.dirs[0].fd)); err != nil {
		return fmt.Errorf("sync the file system: %w", err)
	}
	return nil
}

// close frees what finish, after an error, did not come to.
func (t *tree) close() {
	if t.flush != nil {
		_ = t.flush.wait() // finish has asked already, or failed before
	}
	for _, d := range t.dirs {
		_ = unix.Close(d.fd) // nothing was written through it
	}
	t.dirs = nil
	t.root.Close()
}

// enter makes a directory the current one, creating what is missing, and
// returns its descriptor.
func (t *tree) enter(e entry, name string) (int, error) {
	for !contains(t.top().path, name) {
		if err := t.leave(); err != nil {
			return 0, err
		}
	}
	for t.top().path != name {
		if err := t.descend(e, name); err != nil {
			return 0, err
		}
	}
	return t.top().fd, nil
}

func (t *tree) top() *dir { return &t.dirs[len(t.dirs)-1] }

// contains reports whether name is dir, or lies below it.
func contains(dir, name string) bool {
	return dir == "." || dir == name || len(name) > len(dir) && name[len(dir)] == '/' && strings.HasPrefix(name, dir)
}

// stepTo is the path of the next directory on the way from one to a name below.
func stepTo(dir, name string) string {
	if dir == "." {
		base, _, _ := strings.Cut(name, "/")
		return base
	}
	base, _, _ := strings.Cut(name[len(dir)+1:], "/")
	return dir + "/" + base
}

// descend opens the next directory on the way to name.
func (t *tree) descend(e entry, name string) error {
	above := t.top()
	d := dir{path: stepTo(above.path, name)}
	base := path.Base(d.path)
	err := unix.Mkdirat(above.fd, base, 0o700)
	if err != nil && !errors.Is(err, unix.EEXIST) {
		return err
	}
	d.made = err == nil
	d.fd, err = retried(func() (int, error) { return unix.Openat(above.fd, base, openDir, 0) })
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) {
		return &RefusedError{Entry: e.header.Name, Rule: RuleThrough}
	}
	if err != nil {
		return err
	}
	if !d.made {
		if d.times, err = timesOf(d.fd); err != nil {
			return errors.Join(err, unix.Close(d.fd))
		}
	}
	t.dirs = append(t.dirs, d)
	return nil
}

// leave applies what is known of the current directory and closes it.
func (t *tree) leave() error {
	d := *t.top()
	t.dirs = t.dirs[:len(t.dirs)-1]
	return errors.Join(t.settleDir(d, t.top().fd, path.Base(d.path)), unix.Close(d.fd))
}

// retried repeats a call that a signal interrupted.
func retried(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if !errors.Is(err, unix.EINTR) {
			return n, err
		}
	}
}
