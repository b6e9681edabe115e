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

// A judge admits entries or refuses them. It knows what every name of the
// archive is, so it can tell a name that leads through a link.
//
// Names are kept as hashes: a million of them are a few dozen megabytes. Two
// names that share one are as likely as a broken memory chip, and an archive
// can't be made to have them, since every judge has a seed of its own. The tree
// relies on none of this.
type judge struct {
	o       Options
	seed    maphash.Seed
	kinds   map[uint64]kind // directory, file, symlink, node, opaque
	parent  string          // the last one found to be a directory
	layered bool            // the root held something before
	report  Report
}

func newJudge(o Options) *judge {
	return &judge{o: o, seed: maphash.MakeSeed(), kinds: map[uint64]kind{}, parent: "."}
}

// admit judges the next entry.
func (j *judge) admit(h *tar.Header) (entry, error) {
	e, rule := j.judge(h)
	if rule != "" {
		return entry{}, &RefusedError{Entry: h.Name, Rule: rule, Limit: j.o.limit(rule)}
	}
	return e, nil
}

func (j *judge) judge(h *tar.Header) (entry, Rule) {
	if j.report.Entries++; j.report.Entries > j.o.MaxFiles {
		return entry{}, RuleFiles
	}
	if h.Typeflag == tar.TypeXGlobalHeader {
		return entry{header: h, kind: nothing}, judgeGlobal(h)
	}
	k, rule := j.kindOf(h)
	if rule != "" {
		return entry{}, rule
	}
	p, rule := j.clean(h.Name, k == directory)
	if rule != "" {
		return entry{}, rule
	}
	e := entry{header: h, kind: k, path: p}
	if rule := j.whiteout(&e); rule != "" {
		return entry{}, rule
	}
	if rule := j.content(e); rule != "" {
		return entry{}, rule
	}
	if rule := j.parents(e.path); rule != "" {
		return entry{}, rule
	}
	if rule := j.links(&e); rule != "" {
		return entry{}, rule
	}
	return e, j.place(e)
}

// judgeGlobal: archive/tar leaves what a global header says to its caller, other
// programs apply it to all that follows. Where it matters the archive would be
// two.
func judgeGlobal(h *tar.Header) Rule {
	for key := range h.PAXRecords {
		if key == "path" || key == "linkpath" || key == "size" || strings.HasPrefix(key, "GNU.sparse") {
			return RuleGlobal
		}
	}
	return ""
}

func (j *judge) kindOf(h *tar.Header) (kind, Rule) {
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
		if !j.o.AllowDevices {
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

// clean judges a name and removes what means nothing in it: "./", "//" and the
// slash at the end of a directory.
func (j *judge) clean(name string, isDir bool) (string, Rule) {
	switch {
	case len(name) > j.o.MaxPath:
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
	if depth > j.o.MaxDepth {
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
func (j *judge) whiteout(e *entry) Rule {
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

// content judges what an entry brings beside its name.
func (j *judge) content(e entry) Rule {
	const noID = 1<<32 - 1 // tells the kernel to leave it as it is
	h := e.header
	if h.Uid < 0 || h.Uid >= noID || h.Gid < 0 || h.Gid >= noID {
		return RuleOwner
	}
	if h.Size > j.o.MaxBytes-j.report.Bytes {
		return RuleBytes
	}
	if e.kind == file && isPrivileged(h) {
		switch j.o.Privileges {
		case RefusePrivileges:
			return RulePrivileges
		case StripPrivileges:
			strip(h)
			j.report.Stripped++
		}
	}
	j.report.Bytes += h.Size
	return ""
}

// parents checks that a name leads through directories, and remembers those
// that have no entry of their own yet.
func (j *judge) parents(name string) Rule {
	parent := path.Dir(name)
	if parent == j.parent {
		return ""
	}
	for i := 0; i <= len(parent); i++ {
		if i < len(parent) && parent[i] != '/' || parent == "." {
			continue
		}
		id := j.id(parent[:i])
		switch j.kinds[id] {
		case directory:
		case nothing:
			j.kinds[id] = directory
		default:
			return RuleThrough
		}
	}
	j.parent = parent
	return ""
}

// links judges what a link points to. A hard link gets its target cleaned.
func (j *judge) links(e *entry) Rule {
	target := e.header.Linkname
	switch {
	case e.kind != symlink && e.kind != hardLink:
		return ""
	case len(target) > j.o.MaxPath:
		return RulePath
	case e.kind == symlink:
		if target == "" || strings.IndexByte(target, 0) >= 0 {
			return RuleTarget
		}
		return ""
	}
	var rule Rule
	if e.target, rule = j.clean(target, false); rule != "" {
		return RuleLink
	}
	known := j.kinds[j.id(e.target)]
	if known == nothing && j.layered {
		known = file // of an earlier layer, maybe: the tree will see
	}
	if known != file || e.target == e.path {
		return RuleLink
	}
	return ""
}

// place notes what the name is now. It may be the same kind of thing again.
func (j *judge) place(e entry) Rule {
	r := &j.report
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
	id := j.id(e.path)
	if had := j.kinds[id]; had != nothing && had != become {
		return RuleReplace
	}
	j.kinds[id] = become
	return ""
}

// brought reports whether this archive has made a name, if only as the parent
// of another.
func (j *judge) brought(name string) bool { return j.kinds[j.id(name)] != nothing }

func (j *judge) id(name string) uint64 { return maphash.String(j.seed, name) }

func (j *judge) layout() Layout {
	return layoutOf(func(name string) bool { return j.kinds[j.id(name)] == directory })
}
