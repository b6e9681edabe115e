package gen

import (
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// Source is one spec file.
type Source struct {
	Path string // as diagnostics shall name it
	Data []byte
}

// Load parses, lowers and checks the sources together. The machines are
// whole only when the list has no errors.
func Load(sources []Source) ([]*ir.Machine, *diag.List) {
	list := &diag.List{}
	var files []*syntax.File
	for _, s := range sources {
		if f := syntax.Parse(s.Path, s.Data, list); f != nil {
			files = append(files, f)
		}
	}
	machines := ir.Lower(files, list)
	return machines, list
}
