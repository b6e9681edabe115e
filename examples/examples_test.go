// Package examples_test runs the examples and compares them with their READMEs.
package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
)

// examples returns the folder of each example.
func examples(t *testing.T) (names []string) {
	t.Helper()
	programs, err := filepath.Glob("*/main.go")
	if err != nil || len(programs) < 3 {
		t.Fatalf("%d examples: %v", len(programs), err)
	}
	for _, p := range programs {
		names = append(names, filepath.Dir(p))
	}
	return names
}

// TestExamples builds each example and runs it in an empty folder as often as its README has
// outputs: each run prints what the README says.
func TestExamples(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	build(t, programs, "./...")
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			for _, want := range outputs(t, name) {
				if got := run(t, folder, program(programs, name)); got != want {
					t.Errorf("the example printed\n%s\nand its README says\n%s", got, want)
				}
			}
		})
	}
}

// TestGeneratedIsCurrent compiles the table of each example: the package that is committed is what
// comes out.
func TestGeneratedIsCurrent(t *testing.T) {
	t.Parallel()
	programs := t.TempDir()
	build(t, programs, "../cmd/fsmgen")
	for _, name := range examples(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(t, name, program(programs, "fsmgen"), "generate", "--check", "--werror")
		})
	}
}

// block is a fenced block without a language.
var block = regexp.MustCompile("(?ms)^```\n(.*?)^```$")

// outputs returns the blocks of an example's README that show what a run prints.
func outputs(t *testing.T, name string) (texts []string) {
	t.Helper()
	readme, err := os.ReadFile(filepath.Join(name, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if command := "go run ./examples/" + name + "\n"; !strings.Contains(string(readme), command) {
		t.Errorf("the README does not say %q", command)
	}
	// The fence that closes the commands would else open a block.
	text := regexp.MustCompile("(?ms)^```sh\n.*?^```$").ReplaceAllString(string(readme), "")
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		texts = append(texts, m[1])
	}
	if len(texts) == 0 {
		t.Fatal("the README shows no output")
	}
	return texts
}

func build(t *testing.T, into, packages string) {
	t.Helper()
	run(t, ".", "go", "build", "-o", into+string(filepath.Separator), packages)
}

// program is the path of a program that build has made.
func program(folder, name string) string {
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(folder, name)
}

// run returns what a command prints. It must succeed.
func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	var problems strings.Builder
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s%s", name, strings.Join(args, " "), err, out, problems.String())
	}
	return string(out)
}
