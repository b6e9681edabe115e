package gen

import "strings"

// UnreachedFile is where a folder of specs may list what the proofs of its
// machines do not reach, a machine a line, as the tests name it:
//
//	wal: transitions recover_stale_claim from in_progress
//
// A line that begins with # is a comment.
const UnreachedFile = "unreached.txt"

// Unreached reads such a list: what is not reached, by machine.
func Unreached(text []byte) map[string]string {
	out := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if machine, what, ok := strings.Cut(line, ":"); ok && !strings.HasPrefix(line, "#") {
			out[strings.TrimSpace(machine)] = strings.TrimSpace(what)
		}
	}
	return out
}
