package images_test

import (
	"context"
	"database/sql"
	"errors"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/devicemapper"
	"github.com/fsmgen/fsmgen/internal/guest"
	"github.com/fsmgen/fsmgen/services/images"
)

// laboratories are the keepers of volumes that the tests run with: device-mapper
// in a guest, plain directories elsewhere.
var laboratories = map[string]laboratory{
	"directory":     directories,
	"device-mapper": {inGuest: true, prepare: makePool, volumes: inPool, keeper: poolKeeper, judge: judgePool},
}

// The sizes of a pool and of its volumes.
const (
	poolBytes   = 32 << 20
	volumeBytes = 16 << 20
)

// makePool makes the devices of a pool until the test ends. Links in the folder
// lead every process of the test to them.
func makePool(t *testing.T, dir string) { makePoolOf(t, dir, poolBytes) }

func makePoolOf(t *testing.T, dir string, data int64) {
	t.Helper()
	config := poolConfig(dir)
	for link, bytes := range map[string]int64{config.Metadata: 2 << 20, config.Data: data} {
		if err := os.Symlink(guest.LoopDevice(t, bytes), link); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { reboot(t, dir) })
}

func poolConfig(dir string) devicemapper.Config {
	in := func(name string) string { return filepath.Join(dir, name) }
	return devicemapper.Config{Metadata: in("metadata"), Data: in("data"), Mounts: in("mounts"), VolumeBytes: volumeBytes}
}

func inPool(dir string, step func(string) error) keeperMaker {
	return func(_ context.Context, numbers images.Numbers) (images.Volumes, error) {
		config := poolConfig(dir)
		config.Step = step
		return devicemapper.New(config, numbers)
	}
}

// reboot does what a reboot does: nothing is mounted, no device is active, not
// even the pool.
func reboot(t *testing.T, dir string) {
	t.Helper()
	for _, place := range mounted(t) {
		if strings.HasPrefix(place, dir) {
			if err := unix.Unmount(place, 0); err != nil {
				t.Errorf("unmount %s: %v", place, err)
			}
		}
	}
	dmsetup(t, "remove_all")
}

// dmsetup runs the tool of device-mapper, which shares no code with the adapter.
func dmsetup(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("dmsetup", args...)
	cmd.Env = append(os.Environ(), "DM_DISABLE_UDEV=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("dmsetup %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// mounted lists the places where file systems are mounted, the latest first.
func mounted(t *testing.T) (places []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		places = append(places, strings.Fields(line)[1])
	}
	slices.Reverse(places)
	return places
}

// numbersOf are those of a database that nobody has open.
type numbersOf struct{ db *sql.DB }

func (n numbersOf) Names(ctx context.Context) (map[string]uint32, error) {
	rows, err := n.db.QueryContext(ctx, "SELECT name, number FROM volume_numbers")
	if err != nil {
		return nil, err
	}
	out := map[string]uint32{}
	for rows.Next() {
		var name string
		var number uint32
		if err := rows.Scan(&name, &number); err != nil {
			return nil, err
		}
		out[name] = number
	}
	return out, rows.Err()
}

var errMakesNothing = errors.New("this keeper makes nothing")

func (n numbersOf) Number(context.Context, string, []uint32) (uint32, error) {
	return 0, errMakesNothing
}

func (n numbersOf) Release(ctx context.Context, name string) error {
	_, err := n.db.ExecContext(ctx, "DELETE FROM volume_numbers WHERE name = ?", name)
	return err
}

func poolKeeper(t *testing.T, dir string) images.Volumes {
	t.Helper()
	v, err := devicemapper.New(poolConfig(dir), numbersOf{database(t, dir)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = v.Close() })
	return v
}

// judgePool asks dmsetup, the kernel's table of mounts, the nodes and the
// database for what should be the same volumes, and nothing beside them.
func judgePool(t *testing.T, dir string, names []string, fail func(string, ...any)) {
	t.Helper()
	want := slices.Sorted(slices.Values(append([]string{"pool"}, names...)))
	var devices []string
	for line := range strings.Lines(dmsetup(t, "ls")) {
		devices = append(devices, strings.Fields(line)[0])
	}
	if slices.Sort(devices); !slices.Equal(devices, want) {
		fail("dmsetup lists %q, want %q", devices, want)
	}
	entries, err := os.ReadDir("/dev/mapper")
	if err != nil {
		t.Fatal(err)
	}
	var nodes []string
	for _, e := range entries {
		if e.Name() != "control" {
			nodes = append(nodes, e.Name())
		}
	}
	if !slices.Equal(nodes, want) {
		fail("/dev/mapper has %q, want %q", nodes, want)
	}
	for _, place := range mounted(t) {
		if strings.HasPrefix(place, dir) {
			fail("%s is mounted", place)
		}
	}
	numbers, err := numbersOf{database(t, dir)}.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := slices.Sorted(maps.Keys(numbers)); !slices.Equal(got, names) {
		fail("numbers are given to %q, want %q", got, names)
	}
}
