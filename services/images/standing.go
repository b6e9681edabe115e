package images

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// usable makes what is known, as after a reboot, active. It tells whether there
// is anything, and where. A volume that is seen to stand at a path is not asked
// after.
func usable(ctx context.Context, volumes Volumes, name, path string) (where string, exists bool, err error) {
	if stands(name, path) {
		return path, true, nil
	}
	v, err := volumes.Look(ctx, name)
	if err == nil && v.Condition == Known {
		v, err = volumes.Activate(ctx, name)
	}
	return v.Path, v.Condition != Absent, err
}

// stands reports whether the volume that a completed run left at a path is
// there, by what the file system shows. It makes no call to a device or to the
// keeper: a run of an image that is ready has none (document 002, Test Case 4).
// That it is not seen to stand means nothing; the keeper knows.
func stands(name, path string) bool {
	if path == "" {
		return false
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return false
	case info.Mode()&fs.ModeDevice != 0:
		return isMapped(info, name)
	}
	return info.IsDir()
}

// mapped tells whether the files that the kernel shows of a block device, below
// /sys, are those of a mapped device of this name that is at work: a node in
// /dev can outlive its device, a table can be missing.
func mapped(sys, name string) bool {
	for file, want := range map[string]func(string) bool{
		"dm/name":      func(s string) bool { return s == name },
		"dm/suspended": func(s string) bool { return s == "0" },
		"size":         func(s string) bool { return s != "0" },
	} {
		text, err := os.ReadFile(filepath.Join(sys, filepath.FromSlash(file)))
		if err != nil || !want(strings.TrimSpace(string(text))) {
			return false
		}
	}
	return true
}
