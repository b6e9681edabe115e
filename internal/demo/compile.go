package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// compile compiles the specs in memory and says what came out.
func compile(t *transcript, root string) error {
	paths, err := filepath.Glob(filepath.Join(root, "spec", "*.yaml"))
	if err != nil || len(paths) == 0 {
		return errors.New("no spec/*.yaml here: run it from the root of the repository, with `make demo`")
	}
	var sources []gen.Source
	excerpts := diag.Sources{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("read spec: %w", err)
		}
		name := "spec/" + filepath.Base(path)
		sources = append(sources, gen.Source{Path: name, Data: data})
		excerpts[name] = data
	}
	start := time.Now()
	result, list, err := gen.Compile(sources, gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"})
	took := time.Since(start)
	if err != nil {
		return err
	}
	if list.HasErrors() {
		return fmt.Errorf("the specs have errors:\n%s", diag.Text(list, excerpts, t.colour))
	}
	t.tables(result)
	t.line("\n%s", t.paint(green, fmt.Sprintf("%d tables compiled into %d files in %s (%s), %d warnings", len(result.Machines), len(result.Files), took.Round(time.Millisecond), size(result.Files), list.Len())))
	stale := differences(root, result.Files)
	if stale > 0 {
		t.line("%s", t.paint(red, fmt.Sprintf("%d of them differ from generated/, which is walked below: run make generate", stale)))
	} else {
		t.line("byte for byte what generated/ holds, which is walked below")
	}
	return nil
}

// tables prints one line a machine.
func (t *transcript) tables(result gen.Result) {
	t.title("The tables")
	t.line("%s %6s %6s %6s %7s %10s %6s", pad("machine", 14), "states", "events", "rows", "effects", "invariants", "files")
	for _, m := range result.Machines {
		files := 0
		for _, f := range result.Files {
			if filepath.Dir(f.Path) == m.Text {
				files++
			}
		}
		t.line("%s %6d %6d %6d %7d %10d %6d", t.paint(bold, pad(m.Text, 14)), len(m.States), len(m.Events), rows(m), len(m.Effects), len(m.Invariants), files)
	}
}

// rows counts the rows as the spec writes them, before lists and "*" are
// expanded.
func rows(m *ir.Machine) int {
	groups := map[int]bool{}
	for _, r := range m.Rows {
		groups[r.Group] = true
	}
	return len(groups)
}

func size(files []gen.File) string {
	n := 0
	for _, f := range files {
		n += len(f.Data)
	}
	return fmt.Sprintf("%d KiB", n>>10)
}

// differences counts the files that generated/ does not hold as compiled.
func differences(root string, files []gen.File) int {
	n := 0
	for _, f := range files {
		data, err := os.ReadFile(filepath.Join(root, "generated", filepath.FromSlash(f.Path)))
		if err != nil || !bytes.Equal(data, f.Data) {
			n++
		}
	}
	return n
}
