package devicemapper

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Config describes a pool and where its volumes are mounted.
type Config struct {
	Pool     string // name of the pool's device; default "pool"
	Metadata string // block device of the pool's metadata; one that begins with 4 KiB of zeros becomes a new pool
	Data     string // block device of the pool's data

	BlockSectors   uint64 // of 512 bytes in a block of the pool; default 128. A pool keeps the one it was made with
	LowWaterBlocks uint64 // free blocks below which the kernel warns; default 0: never

	// VolumeBytes is the size of the volumes, which take no more room than what
	// is written; default 10 GiB. It must never shrink: the pool doesn't keep it.
	VolumeBytes uint64

	Mounts string // the folder in which volumes are mounted, each under its name
	Mkfs   string // the program that formats; default "mkfs.ext4"

	// Step, if set, is called with the name of each step of the volumes' methods
	// that changes something, before it. Its error ends the call there and then, like a crash: nothing is
	// cleaned up. It is for tests.
	Step func(point string) error
}

func (c Config) withDefaults() Config {
	if c.Pool == "" {
		c.Pool = "pool"
	}
	if c.BlockSectors == 0 {
		c.BlockSectors = 128
	}
	if c.VolumeBytes == 0 {
		c.VolumeBytes = 10 << 30
	}
	if c.Mkfs == "" {
		c.Mkfs = "mkfs.ext4"
	}
	if c.Step == nil {
		c.Step = func(string) error { return nil }
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Metadata == "" || c.Data == "":
		return errors.New("a pool needs Metadata and Data, two block devices")
	case !filepath.IsAbs(c.Mounts):
		return fmt.Errorf("the folder Mounts must be absolute, not %q", c.Mounts)
	case c.BlockSectors < 128 || c.BlockSectors > 1<<21 || c.BlockSectors%128 != 0:
		return fmt.Errorf("BlockSectors must be a multiple of 128 up to 2097152, not %d", c.BlockSectors)
	}
	return nil
}
