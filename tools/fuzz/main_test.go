package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var errExit = errors.New("exit status 1")

const deadline = `fuzz: elapsed: 11s, execs: 271808 (28007/sec), new interesting: 46 (total: 263)
--- FAIL: FuzzGuard (10.62s)
    context deadline exceeded
FAIL
exit status 1
`

const found = `--- FAIL: FuzzGuard (0.02s)
    --- FAIL: FuzzGuard (0.00s)
        guard_test.go:9: context deadline exceeded

    Failing input written to testdata/fuzz/FuzzGuard/582528ddfad69eb5
FAIL
exit status 1
`

func TestRepeat(t *testing.T) {
	tests := []struct {
		name    string
		outputs []string // of each run; an empty one passes
		runs    int
		fails   bool
	}{
		{"passes", []string{""}, 1, false},
		{"an input fails", []string{found, ""}, 1, true},
		{"go's own deadline, once", []string{deadline, ""}, 2, false},
		{"go's own deadline, then an input", []string{deadline, found, ""}, 2, true},
		{"go's own deadline, each time", []string{deadline, deadline, deadline, ""}, 3, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			runs := 0
			var out strings.Builder
			_, err := repeat(t.Context(), &out, target{"gen", "FuzzGuard"}, func(context.Context, target) (string, error) {
				output := test.outputs[runs]
				runs++
				if output != "" {
					return output, errExit
				}
				return "", nil
			})
			if (err != nil) != test.fails || runs != test.runs {
				t.Errorf("%d runs, error %v; want %d runs, failure %t", runs, err, test.runs, test.fails)
			}
			if told := strings.Count(out.String(), "fuzz gen FuzzGuard again"); told != runs-1 {
				t.Errorf("%d repetitions are told, want %d:\n%s", told, runs-1, out.String())
			}
		})
	}
}

func TestTheOthersGoOn(t *testing.T) {
	root := folder(t, fstest.MapFS{
		"gen/a_test.go":         {Data: []byte("package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc FuzzTwo(f *testing.F) {}\n")},
		"gen/a.go":              {Data: []byte("package a\n\nfunc FuzzNoTest(f *testing.F) {}\n")},
		"testdata/b_test.go":    {Data: []byte("package b\n\nfunc FuzzOfAnExample(f *testing.F) {}\n")},
		"node_modules/_test.go": {Data: []byte("package c\n\nfunc FuzzFetched(f *testing.F) {}\n")},
	})
	var ran []string
	var out strings.Builder
	err := run(t.Context(), &out, root, func(_ context.Context, tg target) (string, error) {
		ran = append(ran, tg.String())
		if tg.name == "FuzzOne" {
			return found, errExit
		}
		return "", nil
	})
	if err == nil || err.Error() != "fuzz targets that failed: gen FuzzOne" {
		t.Errorf("error %v", err)
	}
	if got := strings.Join(ran, ", "); got != "gen FuzzOne, gen FuzzTwo" {
		t.Errorf("ran %s", got)
	}
	if !strings.Contains(out.String(), found) {
		t.Errorf("the output of go is not shown:\n%s", out.String())
	}
}

func TestInterruptionIsNoFailureOfATarget(t *testing.T) {
	root := folder(t, fstest.MapFS{
		"a_test.go": {Data: []byte("package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc FuzzTwo(f *testing.F) {}\n")},
	})
	ctx, cancel := context.WithCancel(t.Context())
	runs := 0
	err := run(ctx, &strings.Builder{}, root, func(context.Context, target) (string, error) {
		runs++
		cancel()
		return "", errExit
	})
	if !errors.Is(err, context.Canceled) || err.Error() != "fuzzing was interrupted at . FuzzOne: context canceled" || runs != 1 {
		t.Errorf("%d runs, error %v", runs, err)
	}
}

func TestNoTarget(t *testing.T) {
	root := t.TempDir()
	if err := run(t.Context(), &strings.Builder{}, root, nil); err == nil || err.Error() != "no fuzz target below "+root {
		t.Errorf("error %v", err)
	}
}

// TestGo fuzzes a target that fails for every input but its first, and finds the input kept.
func TestGo(t *testing.T) {
	root := folder(t, fstest.MapFS{
		"go.mod": {Data: []byte("module example.com/fails\n\ngo 1.26.0\n")},
		"fails/fails_test.go": {Data: []byte("package fails\n\nimport \"testing\"\n\nfunc FuzzFails(f *testing.F) {\n" +
			"\tf.Add(\"\")\n" +
			"\tf.Fuzz(func(t *testing.T, s string) {\n\t\tif s != \"\" {\n\t\t\tt.Error(\"not empty\")\n\t\t}\n\t})\n}\n")},
	})
	var out strings.Builder
	if err := run(t.Context(), &out, root, goTest(root, time.Minute)); err == nil {
		t.Fatalf("no input fails:\n%s", out.String())
	}
	inputs, err := filepath.Glob(filepath.Join(root, "fails", "testdata", "fuzz", "FuzzFails", "*"))
	if err != nil || len(inputs) != 1 {
		t.Errorf("%d inputs are kept (error %v):\n%s", len(inputs), err, out.String())
	}
}

// folder writes a tree into a folder of the test.
func folder(t *testing.T, tree fstest.MapFS) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, tree); err != nil {
		t.Fatal(err)
	}
	return root
}
