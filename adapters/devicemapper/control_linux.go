package devicemapper

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

// controlNode is the file whose ioctls are the commands of device-mapper.
const controlNode = "/dev/mapper/control"

// The fixed parts of the protocol, linux/dm-ioctl.h: a header, and for each
// target a specification followed by its parameters.
const (
	headerSize    = unix.SizeofDmIoctl
	specSize      = unix.SizeofDmTargetSpec
	firstBuffer   = 16 << 10
	largestBuffer = 4 << 20 // no valid answer is longer
	protocolMajor = 4       // since Linux 2.6
)

// control is the open control node.
type control struct {
	file *os.File
	step func(point string) error // before each change
	mu   sync.Mutex               // held with the flock, which does not keep goroutines apart
}

// changes reports whether a command changes something, and the name of that step.
func changes(request uintptr) (point string, ok bool) {
	switch request {
	case unix.DM_DEV_CREATE:
		return "create device", true
	case unix.DM_TABLE_LOAD:
		return "load table", true
	case unix.DM_DEV_SUSPEND:
		return "suspend or resume", true
	case unix.DM_TARGET_MSG:
		return "message", true
	case unix.DM_DEV_REMOVE:
		return "remove device", true
	}
	return "", false
}

// target is one line of a device's table: a range of sectors and the driver that serves it.
type target struct {
	start, length uint64 // sectors
	kind, params  string
}

// openControl opens the control node and checks that the kernel has the same major version of
// the protocol.
func openControl() (*control, error) { return openControlAt(controlNode) }

func openControlAt(node string) (*control, error) {
	file, err := os.OpenFile(node, os.O_RDWR, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ENXIO), errors.Is(err, unix.ENODEV):
		return nil, &Error{Op: "open", Name: node, Kind: volume.ErrUnsupported, Advice: adviceUnsupported, Err: err}
	case err != nil:
		return nil, explain("open", node, err)
	}
	c := &control{file: file, step: func(string) error { return nil }}
	head, _, err := c.do(unix.DM_VERSION, command{})
	if err == nil && head.Version[0] != protocolMajor {
		err = &Error{Op: "version", Name: node, Kind: volume.ErrUnsupported, Err: fmt.Errorf("the kernel has version %d of the protocol, this program needs version %d", head.Version[0], protocolMajor)}
	}
	if err != nil {
		return nil, errors.Join(explain("version", node, err), file.Close())
	}
	return c, nil
}

// lock blocks until no other process or goroutine holds the lock, and returns the function
// that releases it. The kernel releases the lock of a process that dies.
func (c *control) lock() (func(), error) {
	c.mu.Lock()
	if err := c.flock(unix.LOCK_EX); err != nil {
		c.mu.Unlock()
		return nil, explain("lock", controlNode, err)
	}
	return func() {
		_ = c.flock(unix.LOCK_UN) // closing the file unlocks it at the latest
		c.mu.Unlock()
	}, nil
}

func (c *control) flock(how int) error {
	for {
		if err := unix.Flock(int(c.file.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// command is one request.
type command struct {
	name    string // of the device
	flags   uint32
	targets uint32 // in the payload
	payload []byte
}

// do sends a command and returns the header and the payload of the answer. The error is the
// errno itself, or that of Config.Step.
func (c *control) do(request uintptr, cmd command) (*unix.DmIoctl, []byte, error) {
	if len(cmd.name) >= unix.DM_NAME_LEN {
		return nil, nil, unix.ENAMETOOLONG
	}
	if point, ok := changes(request); ok {
		if err := c.step(point); err != nil {
			return nil, nil, err
		}
	}
	size := firstBuffer
	for size < headerSize+len(cmd.payload) {
		size *= 2
	}
	for ; size <= largestBuffer; size *= 2 {
		head, buffer := encode(cmd, size)
		_, _, errno := unix.Syscall(unix.SYS_IOCTL, c.file.Fd(), request, uintptr(unsafe.Pointer(head)))
		if errno != 0 {
			return nil, nil, errno
		}
		if head.Flags&unix.DM_BUFFER_FULL_FLAG == 0 {
			return head, payload(head, buffer), nil
		}
	}
	return nil, nil, unix.E2BIG
}

// encode writes a command into a new buffer of the given size, aligned as the kernel
// requires. The header that it returns points into the buffer.
func encode(cmd command, size int) (*unix.DmIoctl, []byte) {
	words := make([]uint64, size/8)
	buffer := unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), size)
	head := (*unix.DmIoctl)(unsafe.Pointer(&words[0]))
	head.Version = [3]uint32{protocolMajor}
	head.Data_size, head.Data_start = uint32(size), headerSize
	head.Flags, head.Target_count = cmd.flags, cmd.targets
	copy(head.Name[:], cmd.name)
	copy(buffer[headerSize:], cmd.payload)
	return head, buffer
}

// payload returns the bytes of an answer after its header. If there are none, the kernel
// reports an end before the start.
func payload(head *unix.DmIoctl, buffer []byte) []byte {
	start, end := int(head.Data_start), min(int(head.Data_size), len(buffer))
	if start >= end {
		return nil
	}
	return buffer[start:end]
}

// encodeTargets encodes a table. Each specification contains the distance from its own start
// to the next one.
func encodeTargets(targets []target) ([]byte, error) {
	var out bytes.Buffer
	for _, t := range targets {
		params := append([]byte(t.params), 0)
		for (specSize+len(params))%8 != 0 {
			params = append(params, 0)
		}
		spec := unix.DmTargetSpec{Sector_start: t.start, Length: t.length, Next: uint32(specSize + len(params))}
		if len(t.kind) >= len(spec.Target_type) {
			return nil, unix.ENAMETOOLONG
		}
		copy(spec.Target_type[:], t.kind)
		if err := binary.Write(&out, binary.NativeEndian, spec); err != nil {
			return nil, err
		}
		out.Write(params)
	}
	return out.Bytes(), nil
}

// decodeTargets decodes a table or a status. In answers the distance to the next specification
// is measured from the start of the payload.
func decodeTargets(data []byte, count uint32) ([]target, error) {
	var targets []target
	for at := uint32(0); count > 0; count-- {
		if uint64(at)+specSize > uint64(len(data)) {
			return nil, fmt.Errorf("the kernel's answer ends within target %d: %w", len(targets), unix.EPROTO)
		}
		var spec unix.DmTargetSpec
		if err := binary.Read(bytes.NewReader(data[at:]), binary.NativeEndian, &spec); err != nil {
			return nil, err
		}
		targets = append(targets, target{
			start: spec.Sector_start, length: spec.Length,
			kind:   unix.ByteSliceToString(spec.Target_type[:]),
			params: unix.ByteSliceToString(data[at+specSize:]),
		})
		at = spec.Next
	}
	return targets, nil
}

// encodeMessage encodes a message to the target at sector 0.
func encodeMessage(text string) []byte {
	return append(append(make([]byte, 8), text...), 0)
}

// hasVersion reports whether an answer to DM_LIST_VERSIONS lists a driver. An entry is the
// distance to the next one, three numbers and the name. The distance of the last entry is 0.
func hasVersion(data []byte, kind string) bool {
	const nameAt = 16
	for len(data) >= nameAt {
		if unix.ByteSliceToString(data[nameAt:]) == kind {
			return true
		}
		next := binary.NativeEndian.Uint32(data)
		if next == 0 || uint64(next) > uint64(len(data)) {
			return false
		}
		data = data[next:]
	}
	return false
}

// decodeNames decodes an answer to DM_LIST_DEVICES. An entry is the dev_t, the distance to the
// next one and the name. The dev_t of an empty list is 0.
func decodeNames(data []byte) []string {
	const nextAt, nameAt = 8, 12
	var names []string
	for len(data) > nameAt && binary.NativeEndian.Uint64(data) != 0 {
		names = append(names, unix.ByteSliceToString(data[nameAt:]))
		next := binary.NativeEndian.Uint32(data[nextAt:])
		if next == 0 || uint64(next) > uint64(len(data)) {
			break
		}
		data = data[next:]
	}
	return names
}
