package proptest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// Spec is a machine under test with all machines of its folder.
type Spec struct {
	Machine *ir.Machine
	All     []*ir.Machine
}

// now is the time of every case: fixed, so that a failure repeats.
var now = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

// Load compiles all specs of a folder and picks one machine.
func Load(tb testing.TB, specDir, machine string) *Spec {
	tb.Helper()
	spec, err := load(specDir, machine)
	if err != nil {
		tb.Fatal(err)
	}
	return spec
}

func load(specDir, machine string) (*Spec, error) {
	all, err := Machines(specDir)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if m.Text == machine {
			distinguish(m)
			return &Spec{Machine: m, All: all}, nil
		}
	}
	return nil, fmt.Errorf("no machine %s in %s", machine, specDir)
}

// Machines compiles all specs of a folder.
func Machines(specDir string) ([]*ir.Machine, error) {
	paths, err := filepath.Glob(filepath.Join(specDir, "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("list specs of %s: %w", specDir, err)
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("no specs in %s", specDir)
	}
	var sources []gen.Source
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read spec: %w", err)
		}
		sources = append(sources, gen.Source{Path: filepath.ToSlash(path), Data: data})
	}
	all, list, err := gen.Load(sources)
	if err != nil {
		return nil, err
	}
	if list.HasErrors() {
		return nil, fmt.Errorf("specs of %s do not compile: %s", specDir, list.Sorted()[0].Message)
	}
	return all, nil
}
