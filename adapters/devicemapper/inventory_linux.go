package devicemapper

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// numbers returns the number of every device in the pool, in ascending order. The kernel has
// no command that lists them. It reserves a snapshot of the metadata, which numbers reads from
// the disk.
func (p *pool) numbers() (numbers []uint32, err error) {
	unlock, err := p.lock()
	if err != nil {
		return nil, err
	}
	defer unlock()
	root, err := p.freezeMetadata()
	if err != nil {
		return nil, err
	}
	numbers, err = p.readNumbers(root)
	return numbers, errors.Join(err, p.message(p.name, "release_metadata_snap"))
}

// freezeMetadata reserves a snapshot of the metadata and returns the block of its superblock. It
// first releases the snapshot of a process that died.
func (p *pool) freezeMetadata() (uint64, error) {
	const freeze = "reserve_metadata_snap"
	err := p.message(p.name, freeze)
	if errors.Is(err, unix.EBUSY) {
		if err = p.message(p.name, "release_metadata_snap"); err == nil {
			err = p.message(p.name, freeze)
		}
	}
	if err != nil {
		return 0, err
	}
	status, err := p.usage()
	return status.heldRoot, err
}

func (p *pool) readNumbers(superblock uint64) ([]uint32, error) {
	// The kernel bypasses the cache of the block device, so this must, too.
	file, err := os.OpenFile(p.metadata, os.O_RDONLY|unix.O_DIRECT, 0)
	if err != nil {
		return nil, explain("read the metadata of", p.name, err)
	}
	defer file.Close()
	read := metadata(func(block uint64) ([]byte, error) {
		data := aligned(metadataBlock)
		_, err := file.ReadAt(data, int64(block)*metadataBlock)
		return data, err
	})
	numbers, err := read.numbers(superblock)
	return numbers, explain("read the metadata of", p.name, err)
}

// aligned returns memory whose address is a multiple of its size, as O_DIRECT requires.
func aligned(size int) []byte {
	memory := make([]byte, 2*size)
	skip := (size - int(uintptr(unsafe.Pointer(&memory[0]))%uintptr(size))) % size
	return memory[skip : skip+size]
}

// unnamedPrefix begins the name of a device in the pool whose number belongs to no name:
// Numbers lost the name, or another program created the device.
const unnamedPrefix = "number-"

func unnamed(number uint32) string { return fmt.Sprint(unnamedPrefix, number) }

// unnamedNumber returns the number in a name that unnamed returned.
func unnamedNumber(name string) (number uint32, ok bool) {
	digits, ok := strings.CutPrefix(name, unnamedPrefix)
	n, err := strconv.ParseUint(digits, 10, 24)
	return uint32(n), ok && err == nil && unnamed(uint32(n)) == name
}
