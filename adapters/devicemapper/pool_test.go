//go:build linux

package devicemapper

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/internal/guest"
)

// newPool makes a pool of 32 MiB until the test ends.
func newPool(t *testing.T) *pool {
	t.Helper()
	c, err := openControl()
	must(t, err)
	t.Cleanup(func() { must(t, c.file.Close()) })
	config := Config{Pool: "test-pool", Metadata: guest.LoopDevice(t, 4<<20), Data: guest.LoopDevice(t, 32<<20)}.withDefaults()
	p, err := openPool(c, config)
	must(t, err)
	t.Cleanup(func() { must(t, c.remove(config.Pool)) })
	again, err := openPool(c, config)
	must(t, err)
	if *again != *p {
		t.Errorf("the pool was opened as %+v, then as %+v", p, again)
	}
	config.Data, config.Metadata = config.Metadata, config.Data
	_, err = openPool(c, config)
	contains(t, err, "a pool of this name is active")
	return p
}

func testPool(t *testing.T) {
	p := newPool(t)
	s, err := p.usage()
	must(t, err)
	if s.mode != "rw" || s.needsCheck || s.usedData != 0 || s.totalData != 32<<20/(64<<10) || s.usedMeta == 0 {
		t.Errorf("the status of an empty pool is %+v", s)
	}
	if status, err := p.status(p.name); err != nil || !strings.Contains(status.params, " error_if_no_space ") {
		t.Errorf("a full pool would hold writes back: %q, %v", status.params, err)
	}
	const sectors = 16 << 20 / sectorSize
	for _, number := range []uint32{7, MaxNumber} {
		has, err := p.has(number)
		if err != nil || has {
			t.Fatalf("an empty pool has %d: %v, %v", number, has, err)
		}
		wants(t, p.switchOn("none", number, sectors), unix.ENODATA)
		must(t, p.create(number))
		wants(t, p.create(number), unix.EEXIST)
		if has, err := p.has(number); err != nil || !has {
			t.Fatalf("the pool has %d: %v, %v", number, has, err)
		}
	}
	if d, err := p.look("none"); err != nil || d.exists {
		t.Errorf("a device that could not have its table is there: %+v, %v", d, err)
	}
	must(t, p.switchOn("base", 7, sectors))
	must(t, p.snapshot(8, 7, "base"))
	wants(t, p.snapshot(8, 7, "base"), unix.EEXIST)
	wants(t, p.snapshot(9, 10, "gone"), unix.ENODATA)
	if d, err := p.look("base"); err != nil || d.suspended || !d.live {
		t.Errorf("after a snapshot the origin is %+v, %v", d, err)
	}
	if n, err := p.numberOf("base"); err != nil || n != 7 {
		t.Errorf("the number of base is %d, %v", n, err)
	}
	wants(t, p.delete(7), unix.EBUSY)
	must(t, p.remove("base"))
	must(t, p.remove("base"))
	for _, number := range []uint32{7, 8, MaxNumber, 7} {
		must(t, p.delete(number))
	}
}

// testInventory makes so many devices that their tree has several leaves.
func testInventory(t *testing.T) {
	p := newPool(t)
	var want []uint32
	for i := range uint32(300) {
		number := i * 55_555 & MaxNumber
		must(t, p.create(number))
		want = append(want, number)
	}
	slices.Sort(want)
	for _, deleted := range want[100:250] {
		got, err := p.numbers()
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("the pool has %d devices, want %d: %v", len(got), len(want), err)
		}
		must(t, p.delete(deleted))
		want = slices.DeleteFunc(want, func(n uint32) bool { return n == deleted })
		if len(want)%50 == 0 { // a process died while it read
			must(t, p.message(p.name, "reserve_metadata_snap"))
		}
	}
	if s, err := p.usage(); err != nil || s.heldRoot != 0 {
		t.Errorf("the metadata stays frozen: %+v, %v", s, err)
	}
	for _, number := range want {
		must(t, p.delete(number))
	}
	if got, err := p.numbers(); err != nil || len(got) > 0 {
		t.Errorf("an empty pool has %v, %v", got, err)
	}
}
