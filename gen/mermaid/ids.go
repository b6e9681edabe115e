package mermaid

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// anyState is the id of the pseudo-state that wildcard rows leave.
const anyState = "any"

// stateIDs gives every state an identifier that Mermaid's lexer takes whole:
// the state's name where it can be one, else the nearest that is free.
func stateIDs(states []*ir.State) map[*ir.State]string {
	ids := make(map[*ir.State]string, len(states))
	taken := map[string]bool{anyState: true}
	for _, s := range states {
		if isPlain(s.Text) && !taken[s.Text] {
			ids[s], taken[s.Text] = s.Text, true
		}
	}
	for _, s := range states {
		if ids[s] != "" {
			continue
		}
		base := "s_" + strings.Map(idRune, s.Text)
		id := base
		for n := 2; taken[id]; n++ {
			id = base + "_" + strconv.Itoa(n)
		}
		ids[s], taken[id] = id, true
	}
	return ids
}

// isPlain reports whether name can stand as it is.
func isPlain(name string) bool {
	if name == "" || strings.Map(idRune, name) != name || strings.ContainsAny(name[:1], "_0123456789") {
		return false
	}
	return !slices.Contains(words, strings.ToLower(name))
}

// words mean something else to Mermaid, in any case: they begin a statement,
// mark a kind of state or name a node of its own.
var words = []string{
	"accdescr", "acctitle", "as", "choice", "class", "classdef", "click", "default",
	"direction", "end", "fork", "hide", "href", "join", "note", "root", "root_end", "root_start",
	"scale", "state", "style",
}

func idRune(r rune) rune {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
		return r
	}
	return '_'
}
