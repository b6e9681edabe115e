//go:build linux

package devicemapper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

func TestEncodeCommand(t *testing.T) {
	head, buffer := encode(command{name: "thin-1", flags: unix.DM_SUSPEND_FLAG, targets: 2, payload: []byte("payload")}, firstBuffer)
	want := &bytes.Buffer{}
	for _, word := range []uint32{4, 0, 0, firstBuffer, headerSize, 2, 0, unix.DM_SUSPEND_FLAG, 0, 0} {
		must(t, binary.Write(want, binary.NativeEndian, word))
	}
	want.Write(make([]byte, 8)) // the device number
	want.WriteString("thin-1")
	want.Write(make([]byte, headerSize-want.Len()))
	want.WriteString("payload")
	if got := buffer[:want.Len()]; !bytes.Equal(got, want.Bytes()) || headerSize != 312 {
		t.Errorf("encoded\n%x\nwant\n%x", got, want.Bytes())
	}
	if len(buffer) != firstBuffer || head.Target_count != 2 {
		t.Errorf("the buffer has %d bytes, the header is %+v", len(buffer), head)
	}
}

func TestPayload(t *testing.T) {
	head, buffer := encode(command{payload: []byte("answer")}, firstBuffer)
	head.Data_size = headerSize + 6
	if got := string(payload(head, buffer)); got != "answer" {
		t.Errorf("the payload is %q", got)
	}
	head.Data_size = 305 // of an answer without one
	if got := payload(head, buffer); got != nil {
		t.Errorf("the payload is %q", got)
	}
}

// Next counts from the specification on the way in, and from the beginning of
// the payload on the way out.
func TestTargets(t *testing.T) {
	targets := []target{{0, 8, "thin", "/dev/mapper/pool 1"}, {8, 16, "linear", ""}, {24, 1, "thin-pool", "a b 128 0"}}
	data, err := encodeTargets(targets)
	must(t, err)
	for at, total := 0, len(data); at < total; {
		next := at + int(binary.NativeEndian.Uint32(data[at+20:]))
		if (next-at)%8 != 0 {
			t.Fatalf("the specification at %d is %d bytes long", at, next-at)
		}
		binary.NativeEndian.PutUint32(data[at+20:], uint32(next))
		at = next
	}
	got, err := decodeTargets(data, 3)
	if err != nil || !slices.Equal(got, targets) {
		t.Errorf("decoded %+v, %v", got, err)
	}
	if got, err := decodeTargets(data[:len(data)-40], 3); !errors.Is(err, unix.EPROTO) {
		t.Errorf("decoded a cut answer: %+v, %v", got, err)
	}
	_, err = encodeTargets([]target{{kind: "a-name-of-16-bytes"}})
	wants(t, err, unix.ENAMETOOLONG)
}

func TestMessage(t *testing.T) {
	if got, want := encodeMessage("delete 7"), []byte("\x00\x00\x00\x00\x00\x00\x00\x00delete 7\x00"); !bytes.Equal(got, want) {
		t.Errorf("encoded %q", got)
	}
}

// entries lays out a list whose entries tell how far the next one is, aligned
// to eight bytes.
func entries(t *testing.T, before, between []byte, names ...string) []byte {
	t.Helper()
	var all []byte
	for i, name := range names {
		size := (len(before) + 4 + len(between) + len(name) + 1 + 7) &^ 7
		next := uint32(size)
		if i == len(names)-1 {
			next = 0
		}
		entry := append([]byte{}, before...)
		entry = append(binary.NativeEndian.AppendUint32(entry, next), between...)
		entry = append(entry, name...)
		all = append(all, append(entry, make([]byte, size-len(entry))...)...)
	}
	return all
}

func TestLists(t *testing.T) {
	number := []byte{1, 0, 0, 0, 0, 0, 0, 0}
	if got := decodeNames(entries(t, number, nil, "pool", "thin-1-snap", "x")); !reflect.DeepEqual(got, []string{"pool", "thin-1-snap", "x"}) {
		t.Errorf("the devices are %q", got)
	}
	if got := decodeNames(make([]byte, 16)); got != nil {
		t.Errorf("an empty list has %q", got)
	}
	versions := entries(t, nil, make([]byte, 12), "striped", "thin-pool", "thin")
	for kind, want := range map[string]bool{"striped": true, "thin-pool": true, "thin": true, "cache": false, "thi": false} {
		if got := hasVersion(versions, kind); got != want {
			t.Errorf("the kernel has %s: %v", kind, got)
		}
	}
}

// The errno survives, beside what it means.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		errno  unix.Errno
		kind   error
		advice string
	}{
		{unix.ENOSPC, volume.ErrFull, "enlarge the pool"},
		{unix.EBUSY, volume.ErrBusy, "open or mounted"},
		{unix.EPERM, volume.ErrUnsupported, "needs root"},
		{unix.EACCES, volume.ErrUnsupported, "needs root"},
		{unix.EIO, nil, "create device thin-1: input/output error"},
	} {
		err := explain("again", "other", explain("create device", "thin-1", c.errno))
		wants(t, err, c.errno)
		if c.kind != nil {
			wants(t, err, c.kind)
		}
		contains(t, err, c.advice)
		contains(t, err, "create device thin-1")
	}
}

// On a machine without device-mapper the first call says so, and what to do.
func TestUnsupported(t *testing.T) {
	c, err := openControlAt(filepath.Join(t.TempDir(), "control"))
	if err == nil {
		t.Fatal("a control node that isn't there was opened", c.file.Close())
	}
	contains(t, err, adviceUnsupported)
	wants(t, err, volume.ErrUnsupported)
	wants(t, err, unix.ENOENT)
}
