package devicemapper

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
	"strings"
	"testing"
)

// blocks is metadata in memory.
type blocks map[uint64][]byte

var errNoBlock = errors.New("there is no such block")

func (b blocks) read(block uint64) ([]byte, error) {
	if data, ok := b[block]; ok {
		return data, nil
	}
	return nil, errNoBlock
}

// seal gives a block its number and its checksum.
func (b blocks) seal(block uint64, xor uint32, data []byte) {
	binary.LittleEndian.PutUint64(data[blockNumberAt:], block)
	binary.LittleEndian.PutUint32(data, ^crc32.Checksum(data[4:], crc32.MakeTable(crc32.Castagnoli))^xor)
	b[block] = data
}

func (b blocks) superblock(block, root uint64) {
	data := make([]byte, metadataBlock)
	binary.LittleEndian.PutUint64(data[magicAt:], superblockMagic)
	binary.LittleEndian.PutUint64(data[detailsRootAt:], root)
	b.seal(block, superblockXor, data)
}

// node writes a leaf with keys, or a node above that leads to blocks.
func (b blocks) node(block uint64, flags uint32, keys, values []uint64) {
	const room = 10
	data := make([]byte, metadataBlock)
	for at, word := range map[int]uint32{nodeFlagsAt: flags, nodeCountAt: uint32(len(keys)), nodeRoomAt: room, nodeSizeAt: keySize} {
		binary.LittleEndian.PutUint32(data[at:], word)
	}
	for i, key := range keys {
		binary.LittleEndian.PutUint64(data[nodeKeysAt+i*keySize:], key)
		binary.LittleEndian.PutUint64(data[nodeKeysAt+(room+i)*keySize:], values[i])
	}
	b.seal(block, nodeXor, data)
}

func twoLeaves() blocks {
	b := blocks{}
	b.superblock(7, 3)
	b.node(3, 1, []uint64{1, 30}, []uint64{4, 5})
	b.node(4, nodeLeaf, []uint64{1, 2, 20}, make([]uint64, 3))
	b.node(5, nodeLeaf, []uint64{30, MaxNumber}, make([]uint64, 2))
	return b
}

func TestMetadata(t *testing.T) {
	if got, err := metadata(twoLeaves().read).numbers(7); err != nil || !slices.Equal(got, []uint32{1, 2, 20, 30, MaxNumber}) {
		t.Errorf("the devices are %v, %v", got, err)
	}
	for want, damage := range map[string]func(blocks){
		"block 5 of the metadata is damaged":     func(b blocks) { b[5][nodeKeysAt] ^= 1 },
		"block 4 of the metadata is damaged":     func(b blocks) { b[4] = b[5] },
		"block 7 of the metadata is damaged":     func(b blocks) { b[7] = make([]byte, metadataBlock) },
		"block 7 of the metadata is not a super": func(b blocks) { b.seal(7, superblockXor, make([]byte, metadataBlock)) },
		"block 3 of the metadata: there is no s": func(b blocks) { delete(b, 3) },
		"block 3 of the metadata is not a node":  func(b blocks) { b.seal(3, nodeXor, slices.Repeat([]byte{255}, metadataBlock)) },
		"is not a node of a tree":                func(b blocks) { b.node(3, 1, []uint64{1}, []uint64{3}) }, // without end
		"more than 24 bits":                      func(b blocks) { b.node(4, nodeLeaf, []uint64{MaxNumber + 1}, []uint64{0}) },
	} {
		b := twoLeaves()
		damage(b)
		if got, err := metadata(b.read).numbers(7); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the devices are %v, %v, want an error with %q", got, err, want)
		}
	}
}
