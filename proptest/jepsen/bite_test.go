//go:build unix

package jepsen_test

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestTheCheckerBites plays rounds on weakened stores, which the checker has to catch.
func TestTheCheckerBites(t *testing.T) {
	t.Parallel()
	for weakness, caughtBy := range map[string][]string{
		losesCommits:  {"acknowledged"},
		losesMessages: {"asked"},
		ignoresLeases: {"doubled", "order"},
	} {
		t.Run(weakness, func(t *testing.T) {
			t.Parallel()
			bites(t, weakness, caughtBy)
		})
	}
}

// bites plays rounds until one of the rules catches the weakness.
func bites(t *testing.T, weakness string, caughtBy []string) {
	t.Helper()
	const rounds = 5
	for n := range rounds {
		r := round{
			seed: uint64(n), length: 5 * time.Second, patience: 3 * lease,
			outside: odds{actsLate: 40}, calm: true, weakness: weakness,
		}
		caught := false
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			violations, summary := r.play(t, sqliteStage(t))
			t.Log(summary)
			caught = slices.ContainsFunc(violations, func(v violation) bool { return slices.Contains(caughtBy, v.rule) })
		})
		if caught || t.Failed() {
			return
		}
	}
	t.Errorf("a store that %s was not caught by a rule of %q in %d rounds", weakness, caughtBy, rounds)
}
