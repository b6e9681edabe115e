package extract

import (
	"slices"
	"strings"
)

// xattrPrefix is how star, GNU tar and archive/tar write extended attributes.
const xattrPrefix = "SCHILY.xattr."

type xattr struct{ name, value string }

// xattrs are the extended attributes of an entry.
type xattrs struct {
	set  []xattr  // by name
	left []string // that are never set
}

func xattrsOf(e entry) xattrs {
	var x xattrs
	for key, value := range e.header.PAXRecords {
		name, ok := strings.CutPrefix(key, xattrPrefix)
		switch {
		case !ok:
		case e.kind != file && e.kind != directory, strings.HasPrefix(name, "trusted."):
			x.left = append(x.left, name)
		default:
			x.set = append(x.set, xattr{name, value})
		}
	}
	slices.SortFunc(x.set, func(a, b xattr) int { return strings.Compare(a.name, b.name) })
	return x
}
