package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
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
			_, err := repeat(t.Context(), target{}, func(context.Context, target) (string, error) {
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
		})
	}
}

func TestTheOthersGoOn(t *testing.T) {
	root := t.TempDir()
	write(t, root, "a_test.go", "package a\n\nfunc FuzzOne(f *testing.F) {}\n\nfunc FuzzTwo(f *testing.F) {}\n")
	write(t, root, "testdata/b_test.go", "package b\n\nfunc FuzzLeftOut(f *testing.F) {}\n")
	var ran []string
	var out strings.Builder
	err := run(t.Context(), &out, root, func(_ context.Context, tg target) (string, error) {
		ran = append(ran, tg.name)
		if tg.name == "FuzzOne" {
			return found, errExit
		}
		return "", nil
	})
	if err == nil || err.Error() != "fuzzing found inputs that fail: "+root+" FuzzOne" {
		t.Errorf("error %v", err)
	}
	if got := strings.Join(ran, " "); got != "FuzzOne FuzzTwo" {
		t.Errorf("ran %s", got)
	}
	if !strings.Contains(out.String(), "Failing input written to") {
		t.Errorf("the output of go is not shown:\n%s", out.String())
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
	root := t.TempDir()
	write(t, root, "go.mod", "module example.com/fails\n\ngo 1.26.0\n")
	write(t, root, "fails_test.go", "package fails\n\nimport \"testing\"\n\nfunc FuzzFails(f *testing.F) {\n"+
		"\tf.Add(\"\")\n"+
		"\tf.Fuzz(func(t *testing.T, s string) {\n\t\tif s != \"\" {\n\t\t\tt.Error(\"not empty\")\n\t\t}\n\t})\n}\n")
	var out strings.Builder
	if err := run(t.Context(), &out, root, goTest(time.Minute)); err == nil {
		t.Fatalf("no input fails:\n%s", out.String())
	}
	inputs, err := filepath.Glob(filepath.Join(root, "testdata", "fuzz", "FuzzFails", "*"))
	if err != nil || len(inputs) != 1 {
		t.Errorf("%d inputs are kept (error %v):\n%s", len(inputs), err, out.String())
	}
}

func write(t *testing.T, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
