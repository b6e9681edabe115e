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

// format makes an empty ext4. The device is new and reads as zeros, so there is
// nothing to discard, and nothing to clear now or later. mkfs dies with this
// process: it would keep the device open, which the next one has to remove.
func format(ctx context.Context, mkfs, node string) error {
	runtime.LockOSThread() // mkfs dies with the thread that started it
	defer runtime.UnlockOSThread()
	cmd := exec.CommandContext(ctx, mkfs, "-q", "-F", "-m", "0", "-E", "nodiscard,lazy_itable_init=1,lazy_journal_init=1", node)
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	out, err := cmd.CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return explain("format", node, err)
}

// mount makes the content of a device visible. What an image holds is not
// trusted on the host: no devices, no setuid. noinit_itable keeps ext4 from
// clearing, and so allocating, what reads as zeros anyway. A file system that
// finds itself damaged becomes read-only.
func mount(node, place string) error {
	err := os.MkdirAll(place, 0o700)
	if err == nil {
		err = unix.Mount(node, place, "ext4", unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, "errors=remount-ro,noinit_itable")
	}
	return explain("mount", node, err)
}

// syncMount returns when everything that was written below a mount point is on the
// device, or the error with which that failed.
func syncMount(place string) error {
	dir, err := os.Open(place)
	if err != nil {
		return explain("sync", place, err)
	}
	err = unix.Syncfs(int(dir.Fd()))
	return explain("sync", place, errors.Join(err, dir.Close()))
}

// freeze makes a mount point read-only, whatever condition its device is in.
func freeze(place string) error {
	return unix.Mount("", place, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOATIME, "")
}

// unmount ends a mount, never lazily: what is in use stays.
func unmount(place string) error {
	return explain("unmount", place, unix.Unmount(place, unix.UMOUNT_NOFOLLOW))
}

// A mountPoint is where a device is mounted.
type mountPoint struct {
	place    string
	readOnly bool // this mount, or the whole file system
}

// mountsOf returns where a device is mounted, the latest mount last.
func mountsOf(number uint64) ([]mountPoint, error) {
	file, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var found []mountPoint
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20) // a line holds paths and options
	for lines.Scan() {
		if m, ok := parseMount(lines.Text(), number); ok {
			found = append(found, m)
		}
	}
	return found, lines.Err()
}

// parseMount reads a line of mountinfo, "id parent major:minor root place
// options [tags] - type source options", if it is of this device.
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

// unescape undoes the octal escapes of mountinfo: \040 is a space.
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
