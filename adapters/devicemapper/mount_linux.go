package devicemapper

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// format creates an empty ext4 file system. A new device reads as zeros, so mkfs discards and
// clears nothing. mkfs is killed if this process dies: otherwise it would keep the device open,
// and the next process could not remove it.
func format(ctx context.Context, mkfs, node string) error {
	runtime.LockOSThread() // Pdeathsig is sent when this thread ends
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, mkfs, "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", node)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return explain("format", node, err)
}

// mount mounts a device at a path. The host does not trust the content of an image, so device
// nodes and setuid bits have no effect. With noinit_itable ext4 does not clear its inode tables:
// they read as zeros already, and clearing would allocate blocks. A file system with errors
// becomes read-only.
func mount(node, place string) error {
	err := os.MkdirAll(place, 0o700)
	if err == nil {
		err = unix.Mount(node, place, "ext4", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, "errors=remount-ro,noinit_itable")
	}
	return explain("mount", node, err)
}

// syncMount blocks until everything that was written below a mount point is on the device. It
// returns the error of a write that was lost.
func syncMount(place string) error {
	dir, err := os.Open(place)
	if err != nil {
		return explain("sync", place, err)
	}
	err = unix.Syncfs(int(dir.Fd()))
	return explain("sync", place, errors.Join(err, dir.Close()))
}

// freeze makes a mount point read-only. It also works if the device fails.
func freeze(place string) error {
	return unix.Mount("", place, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, "")
}

// unmount removes a mount. It is never lazy: a mount in use returns volume.ErrBusy.
func unmount(place string) error {
	return explain("unmount", place, unix.Unmount(place, unix.UMOUNT_NOFOLLOW))
}

// mountPoint is a path at which a device is mounted.
type mountPoint struct {
	place    string
	readOnly bool // this mount, or the whole file system
}

// mountsOf returns the mount points of a device, in the order in which they were mounted.
func mountsOf(number uint64) ([]mountPoint, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []mountPoint
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20) // a line has paths and options
	for lines.Scan() {
		if m, ok := parseMount(lines.Text(), number); ok {
			found = append(found, m)
		}
	}
	return found, lines.Err()
}

// parseMount parses a line of mountinfo, "id parent major:minor root place options [tags] - type
// source options". It returns false if the line is of another device.
func parseMount(line string, number uint64) (mountPoint, bool) {
	mount, super, _ := strings.Cut(line, " - ")
	words, more := strings.Fields(mount), strings.Fields(super)
	if len(words) < 6 || len(more) < 3 || words[2] != deviceNumber(number) {
		return mountPoint{}, false
	}
	readOnly := hasOption(words[5], "ro") || hasOption(more[2], "ro")
	return mountPoint{place: unescape(words[4]), readOnly: readOnly}, true
}

func hasOption(list, option string) bool {
	return slices.Contains(strings.Split(list, ","), option)
}

// unescape decodes the octal escapes of mountinfo: \040 is a space.
func unescape(text string) string {
	var out strings.Builder
	for len(text) > 0 {
		if len(text) >= 4 && text[0] == '\\' {
			if b, err := strconv.ParseUint(text[1:4], 8, 8); err == nil {
				out.WriteByte(byte(b))
				text = text[4:]
				continue
			}
		}
		out.WriteByte(text[0])
		text = text[1:]
	}
	return out.String()
}
