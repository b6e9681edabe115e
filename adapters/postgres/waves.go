package postgres

import (
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// waves splits commits, since within a wave the statements are sorted by kind
// and written for several records at once. No record occurs twice in one, and
// none is in the wave of the commit that may have started it, nor in an earlier
// one: so an event that starts another record is told what it itself is refused
// for first.
func waves(commits []store.Commit) [][]*store.Commit {
	type record struct{ machine, id string }
	var out [][]*store.Commit
	seen := map[record]bool{}
	first, depth := 0, 0 // the wave of commits that nothing starts, and how far behind it we are
	for i := range commits {
		c := &commits[i]
		r := record{c.Machine, c.ID}
		switch {
		case seen[r]:
			clear(seen)
			first, depth = len(out), 0
		case i == 0 || !mayStart(&commits[i-1], c):
			depth = 0
		case commits[i-1].Machine != c.Machine || !creates(&commits[i-1]):
			depth++
		} // else both are new and of one machine: started by the same commit, or by none
		seen[r] = true
		if first+depth == len(out) {
			out = append(out, nil)
		}
		out[first+depth] = append(out[first+depth], c)
	}
	return out
}

// mayStart reports whether before, or what started it, may have started c: then
// it is a creation by the system for the same cause. Of a commit without steps
// the cause is not known.
func mayStart(before, c *store.Commit) bool {
	if !creates(c) || len(before.Steps) == 0 {
		return creates(c)
	}
	return c.Steps[0].By == fsm.System() && c.Steps[0].Correlation == before.Steps[0].Correlation
}

func creates(c *store.Commit) bool { return len(c.Steps) > 0 && c.Steps[0].Version == 1 }
