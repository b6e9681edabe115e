//go:build linux

package devicemapper

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume"
	"github.com/fsmgen/fsmgen/adapters/volume/volumetest"
	"github.com/fsmgen/fsmgen/internal/guest"
)

// table is Numbers that outlive a driver. All names prefer the same number, so
// they always collide.
type table struct {
	mu      sync.Mutex
	numbers map[string]uint32
}

func (n *table) Number(_ context.Context, name string, inPool []uint32) (uint32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if number, ok := n.numbers[name]; ok {
		return number, nil
	}
	taken := append(slices.Collect(maps.Values(n.numbers)), inPool...)
	const preferred = MaxNumber - 1 // and the largest, too
	number := uint32(preferred)
	for slices.Contains(taken, number) {
		number = (number + 1) & MaxNumber
	}
	n.numbers[name] = number
	return number, nil
}

func (n *table) Release(_ context.Context, name string) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.numbers, name)
	return nil
}

func (n *table) Names(context.Context) (map[string]uint32, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return maps.Clone(n.numbers), nil
}

// subject is a pool under test.
type subject struct {
	*testing.T
	config  Config
	numbers *table
	control *control
}

// poolBytes is the size of the pool, and volumeBytes that of its volumes, which
// is larger: a volume can't fill itself before it fills the pool.
const (
	poolBytes   = 24 << 20
	volumeBytes = 64 << 20
)

func openSubject(t *testing.T) (volume.Volumes, volumetest.Tools) {
	s := newSubject(t)
	return s.reopen(nil), volumetest.Tools{Reopen: s.reopen, Reboot: s.reboot, Debris: s.debris, Capacity: poolBytes, Holds: true}
}

func newSubject(t *testing.T) *subject {
	t.Helper()
	c, err := openControl()
	must(t, err)
	t.Cleanup(func() { must(t, c.file.Close()) })
	s := &subject{T: t, control: c, numbers: &table{numbers: map[string]uint32{}}, config: Config{
		Metadata: guest.LoopDevice(t, 4<<20), Data: guest.LoopDevice(t, poolBytes), VolumeBytes: volumeBytes, Mounts: t.TempDir(),
	}}
	t.Cleanup(s.reboot)
	return s
}

func (s *subject) reopen(step func(string) error) volume.Volumes {
	s.Helper()
	config := s.config
	config.Step = step
	v, err := New(config, s.numbers)
	must(s.T, err)
	s.Cleanup(func() { must(s.T, v.Close()) })
	return v
}

// devices lists the devices that the kernel has beside the pool.
func (s *subject) devices() []string {
	s.Helper()
	names, err := s.control.devices()
	must(s.T, err)
	var found []string
	for _, name := range names {
		if name != "pool" {
			found = append(found, name)
		}
	}
	return found
}

// reboot removes every device: what the kernel knows of them is all that a
// reboot takes away.
func (s *subject) reboot() {
	s.Helper()
	for _, name := range s.devices() {
		d, err := s.control.look(name)
		must(s.T, err)
		if d.suspended && d.live {
			must(s.T, s.control.resume(name))
		}
		mounts, err := mountsOf(d.number)
		must(s.T, err)
		for _, m := range mounts {
			must(s.T, unmount(m.place))
		}
		must(s.T, s.control.remove(name))
	}
	must(s.T, s.control.remove("pool"))
}

// debris compares devices, numbers, nodes, mount points and the pool itself
// with the volumes that there are.
func (s *subject) debris() []string {
	s.Helper()
	v := s.reopen(nil).(*Volumes)
	all, err := v.List(s.Context())
	must(s.T, err)
	known := map[string]bool{"pool": true, "control": true}
	for _, volume := range all {
		known[volume.Name] = true
	}
	var found []string
	add := func(kind, name string) {
		if !known[name] {
			found = append(found, kind+" "+name)
		}
	}
	for _, name := range s.devices() {
		add("device", name)
	}
	for name := range s.numbers.numbers {
		add("number of", name)
	}
	for kind, folder := range map[string]string{"node": nodes, "mount point": s.config.Mounts} {
		entries, err := os.ReadDir(folder)
		must(s.T, err)
		for _, e := range entries {
			add(kind, e.Name())
		}
	}
	if u, err := v.Usage(s.Context()); err != nil || len(all) == 0 && u.Used > 0 {
		found = append(found, fmt.Sprintf("%+v, %v", u, err))
	}
	return found
}

// contains fails the test unless the message has the text. The advice is in the message alone; programs
// use the errno and the kind.
func contains(t *testing.T, err error, text string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Errorf("the error is %v, want one with %q", err, text)
	}
}
