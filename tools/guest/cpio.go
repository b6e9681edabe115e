package main

import (
	"bytes"
	"fmt"
	"path"
)

// An archive is a file system in the "newc" format of cpio, which the kernel
// unpacks before it starts the first process. Everything belongs to root.
type archive struct {
	out   bytes.Buffer
	nodes int
	has   map[string]bool
}

func newArchive() *archive { return &archive{has: map[string]bool{".": true}} }

// add adds a regular file with the folders above it, and reports whether there
// was none of that name.
func (a *archive) add(name string, mode int, data []byte) bool {
	if a.has[name] {
		return false
	}
	a.addFolder(path.Dir(name))
	a.has[name] = true
	a.entry(name, 0o100000|mode, data)
	return true
}

func (a *archive) addFolder(name string) {
	if a.has[name] {
		return
	}
	a.addFolder(path.Dir(name))
	a.has[name] = true
	a.entry(name, 0o040755, nil)
}

// entry writes a header of 13 numbers, the name and the data, each padded to
// four bytes.
func (a *archive) entry(name string, mode int, data []byte) {
	const user, group, links, modified, device, checksum = 0, 0, 1, 0, 0, 0
	a.nodes++
	fmt.Fprintf(&a.out, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00", a.nodes, mode, user, group, links,
		modified, len(data), device, device, device, device, len(name)+1, checksum, name)
	a.pad()
	a.out.Write(data)
	a.pad()
}

func (a *archive) pad() {
	for a.out.Len()%4 != 0 {
		a.out.WriteByte(0)
	}
}

// bytes ends the archive.
func (a *archive) bytes() []byte {
	a.entry("TRAILER!!!", 0, nil)
	return a.out.Bytes()
}
