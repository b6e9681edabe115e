//go:build linux

package devicemapper

import (
	"testing"

	"golang.org/x/sys/unix"
)

func TestParseMount(t *testing.T) {
	device := unix.Mkdev(253, 4)
	for line, want := range map[string]*mountPoint{
		`36 35 253:4 / /mnt/a\040b\134c rw,nosuid - ext4 /dev/mapper/x rw,errors=remount-ro`: {"/mnt/a b\\c", false},
		`36 35 253:4 / /mnt rw shared:1 master:2 - ext4 /dev/mapper/x ro`:                    {"/mnt", true},
		`36 35 253:4 / /mnt ro - ext4 /dev/mapper/x rw`:                                      {"/mnt", true},
		`36 35 253:5 / /mnt ro - ext4 /dev/mapper/x rw`:                                      nil,
		`36 35 253:4`: nil,
		``:            nil,
	} {
		got, ok := parseMount(line, device)
		if ok != (want != nil) || ok && got != *want {
			t.Errorf("%q is %+v, %v", line, got, ok)
		}
	}
}
