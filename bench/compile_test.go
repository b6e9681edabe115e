package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen"
)

var options = gen.Options{Module: "github.com/fsmgen/fsmgen", Specs: "../../spec"}

// compile fails the benchmark unless the sources yield files.
func compile(b testing.TB, sources []gen.Source) {
	b.Helper()
	result, list, err := gen.Compile(sources, options)
	if err != nil || list.HasErrors() || len(result.Files) == 0 {
		b.Fatalf("does not compile: %v, %.1000s", err, fmt.Sprint(list.Sorted()))
	}
}

func allSpecs(b testing.TB) []gen.Source {
	b.Helper()
	paths, err := filepath.Glob("../spec/*.yaml")
	if err != nil || len(paths) == 0 {
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
	b.Run("specs", func(b *testing.B) {
		sources := allSpecs(b)
		measure(b, func() { compile(b, sources) })
	})
	for _, rows := range []int{1_000, 10_000} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) {
			sources := []gen.Source{{Path: "spec/grid.yaml", Data: grid(rows)}}
			cpu := measure(b, func() { compile(b, sources) })
			b.ReportMetric(float64(cpu.Nanoseconds())/float64(rows), "cpu-ns/row")
		})
	}
}

// measure runs f and reports the processor time that one run takes on all
// cores, the garbage collector's included.
func measure(b *testing.B, f func()) time.Duration {
	b.Helper()
	before := processorTime(b)
	for b.Loop() {
		f()
	}
	cpu := (processorTime(b) - before) / time.Duration(b.N)
	b.ReportMetric(cpu.Seconds(), "cpu-s/op")
	return cpu
}

func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// grid is a machine of 100 states, and one in which it ends. Each event leads
// from each state to another one if its guard holds, and is refused if not.
func grid(rows int) []byte {
	const states = 100
	var b strings.Builder
	b.WriteString("machine: grid\nversion: 1.0.0\nfields: {level: {type: int, default: 0, min: 0, max: 1000}}\n")
	b.WriteString("failures: {low: {retry: never}}\nstates:\n  s0: {kind: initial}\n")
	for s := 1; s < states; s++ {
		fmt.Fprintf(&b, "  s%d: {kind: operational}\n", s)
	}
	b.WriteString("  done: {kind: success, terminal: true}\nevents:\n")
	events := rows / states / 2
	for e := range events {
		fmt.Fprintf(&b, "  e%d: {fields: {x%d: int}}\n", e, e)
	}
	b.WriteString("transitions:\n")
	for e := range events {
		for s := range states {
			to := fmt.Sprintf("s%d", (s*7+e+1)%states)
			if s == e {
				to = "done"
			}
			fmt.Fprintf(&b, "  - {name: go_%d_in_%d, from: s%d, on: e%d, when: [x%d >= %d, level < 1000], to: %s, set: {level: $level + 1}}\n", e, s, s, e, e, s, to)
			fmt.Fprintf(&b, "  - {name: no_%d_in_%d, from: s%d, on: e%d, otherwise: true, reject: low}\n", e, s, s, e)
		}
	}
	return []byte(b.String())
}
