//go:build unix

package extract

import (
	"archive/tar"
	"errors"
	"io"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// place writes one entry. A name that is not clean and below the root would
// get past O_NOFOLLOW; the checker refuses such names.
func (t *tree) place(e entry, content io.Reader) error {
	if e.kind != nothing && (!inside(e.path) || e.kind == hardLink && !inside(e.target)) {
		return &RefusedError{Entry: e.header.Name, Rule: RuleParent}
	}
	switch e.kind {
	case nothing:
		return nil
	case directory:
		return t.placeDir(e)
	case whiteout:
		return t.remove(e)
	case opaque:
		return t.empty(e)
	}
	parent, err := t.enter(e, path.Dir(e.path))
	if err != nil {
		return err
	}
	base := path.Base(e.path)
	switch e.kind {
	case file:
		return t.placeFile(e, parent, base, content)
	case symlink:
		err := t.create(e, parent, base, func() error { return unix.Symlinkat(e.header.Linkname, parent, base) })
		if err != nil {
			return err
		}
		return t.settle(e, parent, base)
	case hardLink:
		return t.placeLink(e, parent, base)
	default:
		mode, device := nodeOf(e.header)
		err := t.create(e, parent, base, func() error { return makeNode(parent, base, mode, device) })
		if err != nil {
			return err
		}
		return t.settle(e, parent, base)
	}
}

func inside(name string) bool { return filepath.IsLocal(name) && path.Clean(name) == name }

// placeDir notes what the directory is to be when the tree leaves it.
func (t *tree) placeDir(e entry) error {
	if e.path != "." && t.checker.layered {
		parent, err := t.enter(e, path.Dir(e.path))
		if err != nil {
			return err
		}
		// A later layer may have a directory where an earlier one had none.
		base := path.Base(e.path)
		if isDir, _, err := kindAt(parent, base); err == nil && !isDir {
			if err := unix.Unlinkat(parent, base, 0); err != nil {
				return err
			}
		}
	}
	if _, err := t.enter(e, e.path); err != nil {
		return err
	}
	t.top().entry = &e
	return nil
}

// placeFile writes through a descriptor of a file that it has created.
func (t *tree) placeFile(e entry, parent int, base string, content io.Reader) (err error) {
	var fd int
	err = t.create(e, parent, base, func() (err error) {
		const flags = unix.O_WRONLY | unix.O_CREAT | unix.O_EXCL | unix.O_NOFOLLOW | unix.O_CLOEXEC
		fd, err = retried(func() (int, error) { return unix.Openat(parent, base, flags, 0o600) })
		return err
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unix.Close(fd)) }()
	if err := t.fill(e, fd, content); err != nil {
		return err
	}
	if err := t.settleOpen(e, fd); err != nil {
		return err
	}
	return setTimes(e, parent, base)
}

// fill copies the content. A sparse file gets holes where it has zeros.
func (t *tree) fill(e entry, fd int, content io.Reader) error {
	sparse := isSparse(e.header)
	offset := int64(0)
	for offset < e.header.Size {
		want := min(int64(len(t.buffer)), e.header.Size-offset)
		piece, err := readFull(content, t.buffer[:want])
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if len(piece) == 0 {
			return io.ErrUnexpectedEOF
		}
		if sparse {
			err = writeSparse(fd, piece, offset)
		} else {
			err = write(fd, piece, offset)
		}
		if err != nil {
			return err
		}
		offset += int64(len(piece))
		if t.flush != nil {
			t.flush.wrote(int64(len(piece)))
		}
	}
	if sparse {
		return unix.Ftruncate(fd, e.header.Size)
	}
	return nil
}

func write(fd int, p []byte, offset int64) error {
	for len(p) > 0 {
		n, err := retried(func() (int, error) { return unix.Pwrite(fd, p, offset) })
		if err != nil {
			return err
		}
		p, offset = p[n:], offset+int64(n)
	}
	return nil
}

func writeSparse(fd int, p []byte, offset int64) error {
	for len(p) > 0 {
		block := p[:min(len(p), len(zeros))]
		if !isZero(block) {
			if err := write(fd, block, offset); err != nil {
				return err
			}
		}
		p, offset = p[len(block):], offset+int64(len(block))
	}
	return nil
}

func isSparse(h *tar.Header) bool {
	_, old := h.PAXRecords["GNU.sparse.map"]
	_, major := h.PAXRecords["GNU.sparse.major"]
	return h.Typeflag == tar.TypeGNUSparse || old || major
}

// placeLink links to a file that is found as carefully as everything else.
func (t *tree) placeLink(e entry, parent int, base string) error {
	from, done, err := t.find(path.Dir(e.target))
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ENOENT) {
		return &RefusedError{Entry: e.header.Name, Rule: RuleLink}
	}
	if err != nil {
		return err
	}
	defer done()
	target := path.Base(e.target)
	if _, isFile, err := kindAt(from, target); err != nil || !isFile {
		return &RefusedError{Entry: e.header.Name, Rule: RuleLink}
	}
	return t.create(e, parent, base, func() error { return unix.Linkat(from, target, parent, base, 0) })
}

// find opens a directory that exists, from the deepest one on the way that is
// open already.
func (t *tree) find(name string) (fd int, done func(), err error) {
	i := len(t.dirs) - 1
	for !contains(t.dirs[i].path, name) {
		i--
	}
	nearest := t.dirs[i]
	fd, done = nearest.fd, func() {}
	for fd >= 0 && nearest.path != name {
		next := stepTo(nearest.path, name)
		below, err := retried(func() (int, error) { return unix.Openat(fd, path.Base(next), openDir, 0) })
		done()
		if err != nil {
			return 0, nil, err
		}
		fd, nearest.path = below, next
		done = func() { _ = unix.Close(below) } // it was only looked through
	}
	return fd, done, nil
}

// create makes a name that must not exist. What is there is removed first: the
// checker has seen that it is of the same kind, or it is of an earlier layer.
func (t *tree) create(e entry, parent int, base string, make func() error) error {
	err := make()
	if !errors.Is(err, unix.EEXIST) {
		return err
	}
	isDir, _, err := kindAt(parent, base)
	switch {
	case err != nil:
		return err
	case !isDir:
		err = unix.Unlinkat(parent, base, 0)
	case t.checker.layered:
		err = t.root.RemoveAll(e.path)
	default:
		return &RefusedError{Entry: e.header.Name, Rule: RuleReplace}
	}
	if err != nil {
		return err
	}
	return make()
}

// remove does what a whiteout says, unless the name is of this archive.
func (t *tree) remove(e entry) error {
	if !t.checker.layered {
		return nil
	}
	if _, err := t.enter(e, path.Dir(e.path)); err != nil {
		return err
	}
	return t.purge(e.path)
}

// purge removes what earlier layers left at a name and below it.
func (t *tree) purge(name string) error {
	if !t.checker.brought(name) {
		return t.root.RemoveAll(name)
	}
	info, err := t.root.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	return t.purgeBelow(name)
}

// empty does what an opaque whiteout says.
func (t *tree) empty(e entry) error {
	if _, err := t.enter(e, e.path); err != nil || !t.checker.layered {
		return err
	}
	return t.purgeBelow(e.path)
}

func (t *tree) purgeBelow(name string) error {
	d, err := t.root.Open(name)
	if err != nil {
		return err
	}
	names, err := d.Readdirnames(-1)
	if err := errors.Join(err, d.Close()); err != nil {
		return err
	}
	for _, below := range names {
		if err := t.purge(path.Join(name, below)); err != nil {
			return err
		}
	}
	return nil
}
