package crash

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
)

// compareUnreached reports by name what no scenario reached. It is a failure only if the
// specs' folder lists something else.
func compareUnreached(t testing.TB, specs, machine, database, got string) {
	t.Helper()
	if got != "" {
		Count(t, "%s: not reached on %s: %s", machine, database, got)
	}
	want, listed, err := readUnreached(specs, machine)
	if err != nil {
		t.Error(err)
	}
	if listed && got != want {
		t.Errorf("%s does not reach %q, and %s says %q: if the table wants it so, write the line \"%s: %s\" there",
			machine, got, filepath.Join(specs, gen.UnreachedFile), want, machine, got)
	}
}

// readUnreached returns what the folder lists for a machine; listed is false if
// it has no such file.
func readUnreached(specs, machine string) (text string, listed bool, err error) {
	data, err := os.ReadFile(filepath.Join(specs, gen.UnreachedFile))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("read what is not reached: %w", err)
	}
	return gen.Unreached(data)[machine], true, nil
}

// unreached names what no scenario reached of the machine under test: the proof says
// nothing about it.
func (set scenarioSet) unreached(f *evidence, missed []Window) string {
	var parts []string
	add := func(what string, names []string) {
		if len(names) > 0 {
			parts = append(parts, what+" "+strings.Join(names, ", "))
		}
	}
	taken := edgesTaken(f, set.name)
	var transitions []string
	asked := map[string]bool{}
	for _, e := range set.machines[0].edges {
		if taken[edgeKey(e.transition, e.from, e.event)] {
			for _, effect := range e.effects {
				asked[effect] = true
			}
			continue
		}
		transitions = append(transitions, strings.TrimSuffix(e.transition+" from "+e.from, " from "))
	}
	var effects []string
	for _, e := range callsOf(set.group.Proven()) {
		if !asked[e.Text] {
			effects = append(effects, e.Text)
		}
	}
	var deadlines []string
	for _, state := range set.silent {
		deadlines = append(deadlines, state.Text)
	}
	add("transitions", transitions)
	add("deadlines of", deadlines)
	add("effects", effects)
	add("windows", windowNames(missed))
	return strings.Join(parts, "; ")
}

// windowNames names windows by their kinds, each with its points.
func windowNames(list []Window) []string {
	var out []string
	points := map[Kind][]string{}
	for _, w := range list {
		points[w.Kind] = append(points[w.Kind], string(w.Point))
	}
	for _, k := range allKinds {
		if len(points[k]) > 0 {
			out = append(out, fmt.Sprintf("%s at %s", k, strings.Join(points[k], " and ")))
		}
	}
	return out
}

func transitionsTaken(f *evidence, machine string) int { return len(edgesTaken(f, machine)) }

func edgesTaken(f *evidence, machine string) map[string]bool {
	seen := map[string]bool{}
	for _, h := range f.Steps {
		if h.Machine == machine {
			seen[edgeOf(h)] = true
		}
	}
	return seen
}
