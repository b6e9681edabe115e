package gen_test

import (
	"fmt"
	"log"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
)

const door = `machine: door
version: 1.0.0
states:
  closed: {kind: initial}
  open:   {kind: success, terminal: true}
events:
  install: {}
  push:    {}
transitions:
  - {name: install, from: none,   on: install, to: closed}
  - {name: push,    from: closed, on: push,    to: open}
`

// A table becomes files: Go, SQL for both databases, a diagram, tests.
func ExampleCompile() {
	r, list, err := gen.Compile([]gen.Source{{Path: "spec/door.yaml", Data: []byte(door)}},
		gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"})
	if err != nil || list.HasErrors() {
		log.Fatal(list, err)
	}
	for _, f := range r.Files {
		if f.Path == "door/postgres.sql" || f.Path == "door/diagram.mmd" {
			fmt.Println(f.Path, len(f.Data) > 0)
		}
	}
	// Output:
	// door/postgres.sql true
	// door/diagram.mmd true
}

// What is wrong with a table has a place, a code and a fix.
func ExampleLoad() {
	text := []byte(door + "  - {name: kick, from: closed, on: kick, to: open}\n")
	_, list, err := gen.Load([]gen.Source{{Path: "spec/door.yaml", Data: text}})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s", diag.Text(list, diag.Sources{"spec/door.yaml": text}, false))
	// Output:
	// spec/door.yaml:12:36: error: event "kick" is not declared [FSM003]
	//   - {name: kick, from: closed, on: kick, to: open}
	//                                    ^^^^
	//   help: declare it, or use one of: install, push
}
