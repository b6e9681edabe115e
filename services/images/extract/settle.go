//go:build unix

package extract

import (
	"archive/tar"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// settleDir gives a directory that is left what its entry says. One without an
// entry gets the usual mode, and one that was there keeps its times.
func (t *tree) settleDir(d dir, parent int, base string) error {
	switch {
	case d.entry != nil:
		if err := t.settleOpen(*d.entry, d.fd); err != nil {
			return fmt.Errorf("entry %q: %w", d.entry.header.Name, err)
		}
		return setTimes(*d.entry, parent, base)
	case d.made:
		return unix.Fchmod(d.fd, 0o755)
	case d.path != ".":
		return unix.UtimesNanoAt(parent, base, d.times[:], unix.AT_SYMLINK_NOFOLLOW)
	}
	return nil
}

// settleOpen sets owner, extended attributes and mode, in this order: a change
// of the owner takes capabilities and set-user-ID away.
func (t *tree) settleOpen(e entry, fd int) error {
	if t.owned {
		if err := unix.Fchown(fd, e.header.Uid, e.header.Gid); err != nil {
			return err
		}
	}
	if err := t.setXattrs(e, fd); err != nil {
		return err
	}
	return unix.Fchmod(fd, t.modeOf(e.header))
}

// modeOf leaves out what would mean another user than the archive had in mind.
func (t *tree) modeOf(h *tar.Header) uint32 {
	mode := uint32(h.Mode & 0o7777)
	if !t.owned {
		mode &^= unix.S_ISUID | unix.S_ISGID
	}
	return mode
}

func (t *tree) setXattrs(e entry, fd int) error {
	x := xattrsOf(e)
	left := len(x.left)
	for _, a := range x.set {
		err := setXattr(fd, a.name, []byte(a.value))
		switch {
		case errors.Is(err, unix.ENOTSUP), errors.Is(err, unix.EPERM), errors.Is(err, unix.EACCES):
			left++
		case err != nil:
			return fmt.Errorf("set the extended attribute %q: %w", a.name, err)
		}
	}
	t.checker.report.XattrsLeftOut += int64(left)
	return nil
}

// settle is settleOpen for what can't be opened: links, devices, pipes.
func (t *tree) settle(e entry, parent int, base string) error {
	t.checker.report.XattrsLeftOut += int64(len(xattrsOf(e).left))
	if t.owned {
		if err := unix.Fchownat(parent, base, e.header.Uid, e.header.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return err
		}
	}
	if e.kind == node { // created a moment ago, so it is no link
		if err := unix.Fchmodat(parent, base, t.modeOf(e.header), 0); err != nil {
			return err
		}
	}
	return setTimes(e, parent, base)
}

func setTimes(e entry, parent int, base string) error {
	modified := timespec(e.header.ModTime)
	accessed := modified
	if !e.header.AccessTime.IsZero() {
		accessed = timespec(e.header.AccessTime)
	}
	return unix.UtimesNanoAt(parent, base, []unix.Timespec{accessed, modified}, unix.AT_SYMLINK_NOFOLLOW)
}

func timespec(t time.Time) unix.Timespec {
	ts, err := unix.TimeToTimespec(t)
	if err != nil { // beyond what this machine can count
		return unix.Timespec{}
	}
	return ts
}

// kindAt tells what is at a name, not following a link. Of what there can be
// only directories and regular files matter.
func kindAt(parent int, base string) (isDir, isFile bool, err error) {
	var st unix.Stat_t
	if err := unix.Fstatat(parent, base, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return false, false, err
	}
	kind := st.Mode & unix.S_IFMT
	return kind == unix.S_IFDIR, kind == unix.S_IFREG, nil
}

// nodeOf reads the mode and the number of a device or a named pipe.
func nodeOf(h *tar.Header) (mode uint32, device uint64) {
	switch h.Typeflag {
	case tar.TypeChar:
		mode = unix.S_IFCHR
	case tar.TypeBlock:
		mode = unix.S_IFBLK
	default:
		return unix.S_IFIFO | 0o600, 0
	}
	return mode | 0o600, unix.Mkdev(uint32(h.Devmajor), uint32(h.Devminor))
}
