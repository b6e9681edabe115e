package devicemapper

import (
	"errors"
	"fmt"
	"path/filepath"
)

// Config describes a pool and where its volumes are mounted.
type Config struct {
	Pool     string // name of the pool's device; default "pool"
	Metadata string // block device of the pool's metadata; if it begins with 4 KiB of zeros, New creates a new pool
	Data     string // block device of the pool's data

	BlockSectors   uint64 // sectors of 512 bytes in a block of the pool; default 128. It is fixed when the pool is created
	LowWaterBlocks uint64 // free blocks below which the kernel warns; default 0: never

	// VolumeBytes is the size of every volume; default 10 GiB. A volume uses only the space
	// that was written to. VolumeBytes must never become smaller: the pool does not store it.
	VolumeBytes uint64

	Mounts string // absolute path of the directory in which volumes are mounted, each under its name
	Mkfs   string // the program that formats a volume; default "mkfs.ext4"

	// Step, if set, is called before each step of a method of Volumes that changes something,
	// with the name of the step. If it returns an error, the method returns that error at once
	// and cleans nothing up, like a crash. Only tests set it.
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
		return errors.New("set Metadata and Data, the two block devices of the pool")
	case !filepath.IsAbs(c.Mounts):
		return fmt.Errorf("the directory Mounts must be an absolute path, not %q", c.Mounts)
	case c.BlockSectors < 128 || c.BlockSectors > 1<<21 || c.BlockSectors%128 != 0:
		return fmt.Errorf("BlockSectors must be a multiple of 128 up to 2097152, not %d", c.BlockSectors)
	}
	return nil
}
