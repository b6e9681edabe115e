//go:build unix

package images

import (
	"io/fs"
	"syscall"
)

// inode tells a file from another one under its name; 0 where there is none.
func inode(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int64(stat.Ino)
	}
	return 0
}
