package gen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestEveryRightSide writes each operator with each form of a right side, in a guard and in
// a state invariant: the checker refuses it, or all stages have a form for it.
func TestEveryRightSide(t *testing.T) {
	checker := newTypeChecker(t)
	for _, op := range ir.Ops() {
		accepted := 0
		for _, base := range ir.BaseTypes() {
			v := values[base]
			for _, right := range []string{v.literal, "[" + v.literal + "]", "[]", "$y", "$setting", "$given", "$now", "$state", "true"} {
				for _, place := range []string{"when", "holds"} {
					t.Run(fmt.Sprintf("%s %s %s/%s", base, op, right, place), func(t *testing.T) {
						if rightSideHasForms(t, checker, base, place, fmt.Sprintf("x %s %s", op, right)) {
							accepted++
						}
					})
				}
			}
		}
		if accepted == 0 {
			t.Errorf("the checker refuses each right side of %s", op)
		}
	}
}

// rightSideHasForms reports whether the checker accepts a clause.
func rightSideHasForms(t *testing.T, checker *typeChecker, base ir.Base, place, clause string) (accepted bool) {
	params, written, literal := "", values[base].written, written(base)
	if noLiteral(base) == "" {
		params = fmt.Sprintf("params: {setting: {type: %s, default: %s}}\n", written, literal)
	}
	when, holds := ", when: ['"+clause+"']", ""
	if place == "holds" {
		holds = ", holds: ['" + clause + "']"
	}
	spec := fmt.Sprintf(`machine: word
version: 1.0.0
enums: {colour: [red, green]}
%[4]sfields: {x: optional %[1]s, y: optional %[1]s}
states: {open: {kind: initial}, done: {kind: success, terminal: true%[2]s}}
events: {go_on: {writes: [optional x, optional y], fields: {given: optional %[1]s}}}
transitions:
  - {name: taken, from: open, on: go_on%[3]s, to: done}
  - {name: other, from: open, on: go_on, otherwise: true, to: open}
`, written, holds, when, params)
	result, list, err := gen.Compile([]gen.Source{{Path: "word.yaml", Data: []byte(spec)}}, options)
	if err != nil {
		t.Fatal(err)
	}
	if list.HasErrors() {
		return false
	}
	if err := checker.check(result.Files); err != nil {
		t.Errorf("the Go does not compile: %v", err)
	}
	for _, f := range result.Files {
		if strings.HasSuffix(f.Path, "sqlite.sql") {
			acceptedBySQLite(t, string(f.Data))
		}
	}
	return true
}
