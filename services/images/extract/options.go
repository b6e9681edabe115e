package extract

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
	// AllowDevices admits device nodes and named pipes.
	AllowDevices bool
	// Sync returns only when everything is on the disk.
	Sync bool
	// Progress, if set, is told what has been extracted so far. It is called
	// for every entry and must be quick.
	Progress func(bytes, files int64)
}

func (o Options) withDefaults() Options {
	if o.MaxBytes == 0 {
		o.MaxBytes = 64 << 30
	}
	if o.MaxFiles == 0 {
		o.MaxFiles = 1_000_000
	}
	if o.MaxDepth == 0 {
		o.MaxDepth = 64
	}
	if o.MaxPath == 0 {
		o.MaxPath = 4095
	}
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
	// XattrsLeftOut counts extended attributes that were not set. Check does
	// not know what a file system supports and counts those that no one sets.
	XattrsLeftOut int64
	Layout        Layout // as far as this archive makes it
}
