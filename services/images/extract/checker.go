package extract

import (
	"archive/tar"
	"hash/maphash"
	"path"
	"strings"
)

// kind is what an entry becomes.
type kind uint8

const (
	nothing kind = iota // metadata of the archive
	directory
	file
	symlink
	hardLink
	node
	whiteout // removes a name of an earlier layer
	opaque   // empties a directory of earlier layers
)

// entry is one that was admitted.
type entry struct {
	header *tar.Header
	kind   kind
	path   string // clean and relative; "." is the root
	target string // of a hard link: clean and relative
}

// checker admits entries or refuses them. It knows what every name of the
// archive is, so it can tell a name that leads through a link.
//
// Names are kept as hashes: a million of them are a few dozen megabytes. Two
// names that share one are as likely as a broken memory chip, and an archive
// can't be made to have them, since every checker has a seed of its own. The tree
// relies on none of this.
type checker struct {
	o       Options
	seed    maphash.Seed
	kinds   map[uint64]kind // directory, file, symlink, node, opaque
	parent  string          // the last one found to be a directory
	layered bool            // the root held something before
	report  Report
}

func newChecker(o Options) *checker {
	return &checker{o: o, seed: maphash.MakeSeed(), kinds: map[uint64]kind{}, parent: "."}
}

// admit checks the next entry.
func (c *checker) admit(h *tar.Header) (entry, error) {
	e, rule := c.check(h)
	if rule != "" {
		return entry{}, &RefusedError{Entry: h.Name, Rule: rule, Limit: c.o.limit(rule)}
	}
	return e, nil
}

func (c *checker) check(h *tar.Header) (entry, Rule) {
	if c.report.Entries++; c.report.Entries > c.o.MaxFiles {
		return entry{}, RuleFiles
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return entry{header: h, kind: nothing}, checkGlobal(h)
	}
	k, rule := c.kindOf(h)
	if rule != "" {
		return entry{}, rule
	}
	p, rule := c.clean(h.Name, k == directory)
	if rule != "" {
		return entry{}, rule
	}
	e := entry{header: h, kind: k, path: p}
	if rule := c.whiteout(&e); rule != "" {
		return entry{}, rule
	}
	if rule := c.content(e); rule != "" {
		return entry{}, rule
	}
	if rule := c.parents(e.path); rule != "" {
		return entry{}, rule
	}
	if rule := c.links(&e); rule != "" {
		return entry{}, rule
	}
	return e, c.place(e)
}

// checkGlobal: archive/tar leaves what a global header says to its caller, other
// programs apply it to all that follows. Where it matters the archive would be
// two.
func checkGlobal(h *tar.Header) Rule {
	for key := range h.PAXRecords {
		if key == "path" || key == "linkpath" || key == "size" || strings.HasPrefix(key, "GNU.sparse") {
			return RuleGlobal
		}
	}
	return ""
}

func (c *checker) kindOf(h *tar.Header) (kind, Rule) {
	var k kind
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return file, ""
	case tar.TypeDir:
		k = directory
	case tar.TypeSymlink:
		k = symlink
	case tar.TypeLink:
		k = hardLink
	case tar.TypeChar, tar.TypeBlock, tar.TypeFifo:
		if !c.o.AllowDevices {
			return 0, RuleDevice
		}
		k = node
	default:
		return 0, RuleType
	}
	if h.Size != 0 {
		return 0, RuleSize // programs disagree on whether it is there
	}
	return k, ""
}

// clean checks a name and removes what means nothing in it: "./", "//" and the
// slash at the end of a directory.
func (c *checker) clean(name string, isDir bool) (string, Rule) {
	switch {
	case len(name) > c.o.MaxPath:
		return "", RulePath
	case strings.HasPrefix(name, "/"):
		return "", RuleAbsolute
	case name == "" || strings.IndexByte(name, 0) >= 0:
		return "", RuleName
	}
	depth := 0
	for part := range strings.SplitSeq(name, "/") {
		switch {
		case part == "..":
			return "", RuleParent
		case len(part) > 255:
			return "", RulePath
		case part != "" && part != ".":
			depth++
		}
	}
	if depth > c.o.MaxDepth {
		return "", RuleDepth
	}
	if !isDir && (depth == 0 || strings.HasSuffix(name, "/") || strings.HasSuffix(name, "/.")) {
		return "", RuleName
	}
	return path.Clean(name), ""
}

const (
	whiteoutPrefix = ".wh."
	whiteoutMeta   = ".wh..wh." // of AUFS, for itself
	whiteoutOpaque = ".wh..wh..opq"
)

// whiteout recognises what the Image Layer Filesystem Changeset of OCI calls so.
func (c *checker) whiteout(e *entry) Rule {
	dir, base := path.Split(e.path)
	switch {
	case strings.Contains("/"+dir, "/"+whiteoutMeta):
		e.kind = nothing
		return ""
	case strings.Contains("/"+dir, "/"+whiteoutPrefix):
		return RuleWhiteout
	case !strings.HasPrefix(base, whiteoutPrefix):
		return ""
	case base == whiteoutOpaque:
		e.kind, e.path = opaque, path.Clean(dir+".")
		return ""
	case strings.HasPrefix(base, whiteoutMeta):
		e.kind = nothing
		return ""
	}
	gone := strings.TrimPrefix(base, whiteoutPrefix)
	if gone == "" || gone == "." || gone == ".." {
		return RuleWhiteout
	}
	e.kind, e.path = whiteout, dir+gone
	return ""
}

// content checks what an entry brings beside its name.
func (c *checker) content(e entry) Rule {
	const noID = 1<<32 - 1 // tells the kernel to leave it as it is
	h := e.header
	if h.Uid < 0 || h.Uid >= noID || h.Gid < 0 || h.Gid >= noID {
		return RuleOwner
	}
	if h.Size > c.o.MaxBytes-c.report.Bytes {
		return RuleBytes
	}
	if e.kind == file && isPrivileged(h) {
		switch c.o.Privileges {
		case RefusePrivileges:
			return RulePrivileges
		case StripPrivileges:
			strip(h)
			c.report.Stripped++
		}
	}
	c.report.Bytes += h.Size
	return ""
}

// parents checks that a name leads through directories, and remembers those
// that have no entry of their own yet.
func (c *checker) parents(name string) Rule {
	parent := path.Dir(name)
	if parent == c.parent {
		return ""
	}
	for i := 0; i <= len(parent); i++ {
		if i < len(parent) && parent[i] != '/' || parent == "." {
			continue
		}
		id := c.id(parent[:i])
		switch c.kinds[id] {
		case directory:
		case nothing:
			c.kinds[id] = directory
		default:
			return RuleThrough
		}
	}
	c.parent = parent
	return ""
}

// links checks what a link points to. A hard link gets its target cleaned.
func (c *checker) links(e *entry) Rule {
	target := e.header.Linkname
	switch {
	case e.kind != symlink && e.kind != hardLink:
		return ""
	case len(target) > c.o.MaxPath:
		return RulePath
	case e.kind == symlink:
		if target == "" || strings.IndexByte(target, 0) >= 0 {
			return RuleTarget
		}
		return ""
	}
	var rule Rule
	if e.target, rule = c.clean(target, false); rule != "" {
		return RuleLink
	}
	known := c.kinds[c.id(e.target)]
	if known == nothing && c.layered {
		known = file // of an earlier layer, maybe: the tree will see
	}
	if known != file || e.target == e.path {
		return RuleLink
	}
	return ""
}

// place notes what the name is now. It may be the same kind of thing again.
func (c *checker) place(e entry) Rule {
	r := &c.report
	become := e.kind
	switch e.kind {
	case nothing:
		return ""
	case whiteout:
		r.Whiteouts++
		return ""
	case opaque:
		r.Whiteouts++
		become = directory
	case directory:
		r.Directories++
	case file:
		r.Files++
	case symlink:
		r.Links++
	case hardLink:
		r.Links++
		become = file
	case node:
		r.Nodes++
	}
	if e.path == "." {
		return ""
	}
	id := c.id(e.path)
	if had := c.kinds[id]; had != nothing && had != become {
		return RuleReplace
	}
	c.kinds[id] = become
	return ""
}

// brought reports whether this archive has made a name, if only as the parent
// of another.
func (c *checker) brought(name string) bool { return c.kinds[c.id(name)] != nothing }

func (c *checker) id(name string) uint64 { return maphash.String(c.seed, name) }

func (c *checker) layout() Layout {
	return layoutOf(func(name string) bool { return c.kinds[c.id(name)] == directory })
}
