package devicemapper

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// The parts of a pool's metadata that list its devices, as in
// drivers/md/dm-thin-metadata.c and persistent-data/dm-btree-internal.h of Linux. Blocks have
// metadataBlock bytes and are little endian. Each starts with its checksum and has its own
// number at blockNumberAt.
const (
	blockNumberAt = 8

	superblockXor   = 160774 // combined with the checksum of a superblock
	superblockMagic = 27022010
	magicAt         = 32
	detailsRootAt   = 328 // the tree whose keys are the numbers of the devices

	nodeXor      = 121107
	nodeFlagsAt  = 4
	nodeLeaf     = 2
	nodeCountAt  = 16
	nodeRoomAt   = 20 // the largest number of entries
	nodeSizeAt   = 24 // of a value
	nodeKeysAt   = 32 // keys, then values
	keySize      = 8
	deepestNodes = 16 // no valid tree is deeper
)

// metadata returns a block of a pool's metadata.
type metadata func(block uint64) ([]byte, error)

// numbers returns the numbers of the devices that a superblock refers to, in ascending order.
func (m metadata) numbers(superblock uint64) ([]uint32, error) {
	data, err := m.read(superblock, superblockXor)
	if err != nil {
		return nil, err
	}
	if magic := binary.LittleEndian.Uint64(data[magicAt:]); magic != superblockMagic {
		return nil, fmt.Errorf("block %d of the metadata is not a superblock: its magic number is %d", superblock, magic)
	}
	return m.keys(nil, binary.LittleEndian.Uint64(data[detailsRootAt:]), deepestNodes)
}

// keys appends the keys of the leaves below a node of a tree to the list to.
func (m metadata) keys(to []uint32, node uint64, depth int) ([]uint32, error) {
	data, err := m.read(node, nodeXor)
	if err != nil {
		return nil, err
	}
	word := func(at int) int { return int(binary.LittleEndian.Uint32(data[at:])) }
	entry := func(at int) uint64 { return binary.LittleEndian.Uint64(data[at:]) }
	count, room, size := word(nodeCountAt), word(nodeRoomAt), word(nodeSizeAt)
	leaf := word(nodeFlagsAt)&nodeLeaf != 0
	if count > room || room > metadataBlock/keySize || size < keySize || nodeKeysAt+room*(keySize+size) > len(data) || depth == 0 {
		return nil, fmt.Errorf("block %d of the metadata is not a node of a tree: it has %d of %d entries of %d bytes", node, count, room, size)
	}
	for i := range count {
		if !leaf {
			if to, err = m.keys(to, entry(nodeKeysAt+room*keySize+i*size), depth-1); err != nil {
				return nil, err
			}
			continue
		}
		key := entry(nodeKeysAt + i*keySize)
		if key > MaxNumber {
			return nil, fmt.Errorf("block %d of the metadata has device %d, which is more than 24 bits", node, key)
		}
		to = append(to, uint32(key))
	}
	return to, nil
}

// read returns a block. It returns an error if the checksum or the number in the block is
// wrong.
func (m metadata) read(block uint64, xor uint32) ([]byte, error) {
	data, err := m(block)
	if err != nil {
		return nil, fmt.Errorf("block %d of the metadata: %w", block, err)
	}
	const checksumSize = 4
	// The kernel does not invert the checksum.
	sum := ^crc32.Checksum(data[checksumSize:], crc32.MakeTable(crc32.Castagnoli)) ^ xor
	if sum != binary.LittleEndian.Uint32(data) || binary.LittleEndian.Uint64(data[blockNumberAt:]) != block {
		return nil, fmt.Errorf("block %d of the metadata is damaged: its checksum or its number is wrong", block)
	}
	return data, nil
}
