package extract

import (
	"cmp"
	"errors"
	"fmt"
)

// Options bound what an archive may hold. The zero value has the defaults.
type Options struct {
	// MaxBytes bounds the content of all files; holes of sparse files count.
	// Default: 64 GiB.
	MaxBytes int64
	// MaxFiles bounds the entries of every kind. It bounds memory, too: about
	// fifty bytes an entry. Default: one million.
	MaxFiles int64
	// MaxDepth bounds the components of a name. Default: 64.
	MaxDepth int
	// MaxPath bounds the length of a name and of a link's target, in bytes.
	// Default: 4095, the longest that Linux takes.
	MaxPath int
	// MaxHeader bounds the headers of one entry, in bytes of the unpacked
	// archive. Default: 8 MiB.
	MaxHeader int64
	// MaxHeaders bounds the headers of all entries together, likewise. Default:
	// 2 GiB.
	MaxHeaders int64
	// MaxRatio bounds how many times larger than its packed form an archive may
	// be. The first 64 MiB are free. Default: 200.
	MaxRatio int64
	// Privileges says what happens to set-user-ID, set-group-ID and file
	// capabilities of regular files. Default: StripPrivileges.
	Privileges Privileges
	// AllowDevices admits device nodes and named pipes.
	AllowDevices bool
	// Sync returns only when everything is on the disk.
	Sync bool
	// Progress, if set, is told what has been extracted so far. It is called
	// for every entry and must be quick.
	Progress func(bytes, files int64)
}

// Privileges is a policy for what gives whoever runs a file more rights than its
// own: set-user-ID and set-group-ID of a regular file, and file capabilities (the
// extended attribute security.capability). On a mounted volume they work for every
// user of the host. Set-group-ID of a directory is none of these and stays.
type Privileges string

// The policies.
const (
	StripPrivileges  Privileges = "strip"  // leave them out and count them in Report
	KeepPrivileges   Privileges = "keep"   // set them, as root
	RefusePrivileges Privileges = "refuse" // refuse the archive
)

// Validate returns an error for options that mean nothing.
func (o Options) Validate() error {
	if min(o.MaxBytes, o.MaxFiles, int64(o.MaxDepth), int64(o.MaxPath), o.MaxHeader, o.MaxHeaders, o.MaxRatio) < 0 {
		return errors.New("a limit of the extraction is negative")
	}
	switch o.Privileges {
	case "", StripPrivileges, KeepPrivileges, RefusePrivileges:
		return nil
	}
	return fmt.Errorf("privileges %q: it is one of strip, keep and refuse", string(o.Privileges))
}

func (o Options) withDefaults() Options {
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<30)
	o.MaxFiles = cmp.Or(o.MaxFiles, 1_000_000)
	o.MaxDepth = cmp.Or(o.MaxDepth, 64)
	o.MaxPath = cmp.Or(o.MaxPath, 4095)
	o.MaxHeader = cmp.Or(o.MaxHeader, 8<<20)
	o.MaxHeaders = cmp.Or(o.MaxHeaders, 2<<30)
	o.MaxRatio = cmp.Or(o.MaxRatio, 200)
	o.Privileges = cmp.Or(o.Privileges, StripPrivileges)
	if o.Progress == nil {
		o.Progress = func(int64, int64) {}
	}
	return o
}

// Report says what an archive holds.
type Report struct {
	Entries     int64 // of every kind, also those that become no file
	Files       int64 // regular ones
	Directories int64 // that have an entry of their own
	Links       int64 // symbolic and hard ones
	Nodes       int64 // devices and named pipes
	Whiteouts   int64
	Bytes       int64 // of all regular files
	// Stripped counts the regular files that lost set-user-ID, set-group-ID or
	// capabilities to the policy StripPrivileges.
	Stripped int64
	// XattrsLeftOut counts extended attributes that were not set. Check does
	// not know what a file system supports and counts those that no one sets.
	XattrsLeftOut int64
	Layout        Layout // as far as this archive makes it
}
