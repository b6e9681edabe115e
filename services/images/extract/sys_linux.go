package extract

import "golang.org/x/sys/unix"

func setXattr(fd int, name string, value []byte) error {
	return unix.Fsetxattr(fd, name, value, 0)
}

func makeNode(parent int, base string, mode uint32, device uint64) error {
	return unix.Mknodat(parent, base, mode, int(device))
}

// syncFS writes out the file system of fd, and no other.
func syncFS(fd int) error { return unix.Syncfs(fd) }

func timesOf(fd int) ([2]unix.Timespec, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return [2]unix.Timespec{st.Atim, st.Mtim}, err
}
