package images

import (
	"fmt"
	"io/fs"
	"syscall"
)

// isMapped finds what /sys shows of a block device.
func isMapped(info fs.FileInfo, name string) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || info.Mode()&fs.ModeCharDevice != 0 {
		return false
	}
	number := stat.Rdev
	major := number>>8&0xfff | number>>32&0xfffff000
	minor := number&0xff | number>>12&0xffffff00
	return mapped(fmt.Sprintf("/sys/dev/block/%d:%d", major, minor), name)
}
