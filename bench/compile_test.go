package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
)

var options = gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"}

// compile fails the benchmark unless the sources yield files.
func compile(b testing.TB, sources []gen.Source) {
	b.Helper()
	result, list, err := gen.Compile(sources, options)
	if err != nil || list.HasErrors() || len(result.Files) == 0 {
		b.Fatalf("does not compile: %v, %v", err, list.Sorted())
	}
}

func tenSpecs(b testing.TB) []gen.Source {
	b.Helper()
	paths, err := filepath.Glob("../spec/*.yaml")
	if err != nil || len(paths) != 10 {
		b.Fatalf("found %d specs: %v", len(paths), err)
	}
	var sources []gen.Source
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, gen.Source{Path: p, Data: data})
	}
	return sources
}

// BenchmarkCompile is the whole compiler: specs in, every output file out.
func BenchmarkCompile(b *testing.B) {
	b.Run("ten specs", func(b *testing.B) {
		sources := tenSpecs(b)
		for b.Loop() {
			compile(b, sources)
		}
	})
	for _, rows := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("%d rows", rows), func(b *testing.B) {
			sources := []gen.Source{{Path: "spec/grid.yaml", Data: grid(rows)}}
			for b.Loop() {
				compile(b, sources)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(rows), "ns/row")
		})
	}
}

// grid is a machine of 100 states in which each event leads from each state
// to another one, guarded by a field of the event.
func grid(rows int) []byte {
	const states = 100
	events := rows / states
	var b strings.Builder
	b.WriteString("machine: grid\nversion: 1.0.0\nfields: {level: {type: int, default: 0, min: 0, max: 1000}}\nfailures: {low: {retry: never}}\nstates:\n")
	for s := range states {
		kind := "operational"
		if s == 0 {
			kind = "initial"
		}
		fmt.Fprintf(&b, "  s%d: {kind: %s}\n", s, kind)
	}
	b.WriteString("events:\n")
	for e := range events {
		fmt.Fprintf(&b, "  e%d: {fields: {x%d: int}}\n", e, e)
	}
	b.WriteString("transitions:\n")
	for e := range events {
		for s := range states {
			if s%10 == 9 {
				fmt.Fprintf(&b, "  - {name: r%d_%d, from: s%d, on: e%d, otherwise: true, reject: low}\n", e, s, s-1, e)
				continue
			}
			fmt.Fprintf(&b, "  - {name: r%d_%d, from: s%d, on: e%d, when: [x%d >= %d, level < 1000], to: s%d, set: {level: $level + 1}}\n",
				e, s, s, e, e, s, (s*7+e+1)%states)
		}
	}
	return []byte(b.String())
}
