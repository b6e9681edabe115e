package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fsmgen/fsmgen/gen/check"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/internal/racing"
)

func TestMain(m *testing.M) {
	if err := racing.HurryChildren(); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"fsmgen": main})
}

// TestScript runs testdata/script. FSMGEN_GOLDEN=1 rewrites what they expect.
func TestScript(t *testing.T) {
	fetch(t)
	testscript.Run(t, testscript.Params{
		Dir:                "testdata/script",
		UpdateScripts:      os.Getenv("FSMGEN_GOLDEN") != "",
		RequireUniqueNames: true,
		Setup:              setUp,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"bytes": writeBytes, "age": age, "old": old,
		},
	})
}

// fetch fills the module cache, which may be new, with what scripts need beside
// the build of this test: modules that they import, and the go.mod of everything
// that is required in turn, which a module that requires this one reads.
func fetch(t *testing.T) {
	t.Helper()
	for _, args := range [][]string{{"mod", "download"}, {"list", "-m", "all"}} {
		if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
			t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// setUp lets scripts run the go command offline, with the modules that this
// test was built from. REPO is the folder of this module.
func setUp(env *testscript.Env) error {
	repo, err := filepath.Abs("../..")
	if err != nil {
		return err
	}
	env.Setenv("REPO", repo)
	env.Setenv(racing.Variable, os.Getenv(racing.Variable))
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		value, err := exec.Command("go", "env", name).Output()
		if err != nil {
			return fmt.Errorf("go env %s: %w", name, err)
		}
		env.Setenv(name, strings.TrimSpace(string(value)))
	}
	for _, setting := range []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local", "GOWORK=off", "GOENV=off"} {
		name, value, _ := strings.Cut(setting, "=")
		env.Setenv(name, value)
	}
	return nil
}

// writeBytes writes what a script can't hold: bytes FILE QUOTED [TIMES].
func writeBytes(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || len(args) > 3 {
		ts.Fatalf("usage: bytes FILE QUOTED [TIMES]")
	}
	text, err := strconv.Unquote(`"` + args[1] + `"`)
	ts.Check(err)
	times := 1
	if len(args) == 3 {
		times, err = strconv.Atoi(args[2])
		ts.Check(err)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), bytes.Repeat([]byte(text), times), 0o644))
}

var longAgo = time.Date(2001, time.January, 1, 0, 0, 0, 0, time.UTC)

// age gives files a modification time of long ago.
func age(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		ts.Check(os.Chtimes(ts.MkAbs(name), longAgo, longAgo))
	}
}

// old checks that the files were not written since they were aged.
func old(ts *testscript.TestScript, neg bool, args []string) {
	for _, name := range args {
		info, err := os.Stat(ts.MkAbs(name))
		ts.Check(err)
		if info.ModTime().Equal(longAgo) == neg {
			ts.Fatalf("%s was modified at %s", name, info.ModTime())
		}
	}
}

// TestEveryCodeHasAScript: each diagnostic is shown by a script of its name.
func TestEveryCodeHasAScript(t *testing.T) {
	for _, r := range check.Rules() {
		code := string(r.Code)
		scripts, err := filepath.Glob(filepath.Join("testdata", "script", strings.ToLower(code)+"_*.txtar"))
		if err != nil || len(scripts) != 1 {
			t.Errorf("%s (%s): %d scripts %v", code, r.Title, len(scripts), err)
			continue
		}
		data, err := os.ReadFile(scripts[0])
		if err != nil || !bytes.Contains(data, []byte("["+code+"]")) {
			t.Errorf("%s does not expect %s (%v)", scripts[0], code, err)
		}
	}
}

func here(t *testing.T) (*world, *bytes.Buffer, *bytes.Buffer) {
	var stdout, stderr bytes.Buffer
	return &world{t.TempDir(), strings.NewReader(""), &stdout, &stderr, func(string) string { return "" }}, &stdout, &stderr
}

func TestAFaultOfTheProgramHasNoStackTrace(t *testing.T) {
	w, _, stderr := here(t)
	w.stdout = faulty{"broken on purpose"}
	if code := run([]string{"version"}, w); code != exitFailed {
		t.Errorf("exit code %d", code)
	}
	if got := stderr.String(); !strings.Contains(got, "please report") || strings.Contains(got, "goroutine") {
		t.Errorf("got %q", got)
	}
}

// TestAWordWithoutAFormIsAFaultOfTheProgram, whether a stage returned it as an error
// or a command met its panic.
func TestAWordWithoutAFormIsAFaultOfTheProgram(t *testing.T) {
	gap := ir.NoForm("golang.text", ir.Base("decimal"))
	for name, code := range map[string]func(w *world) int{
		"error": func(w *world) int { return w.exit(nil, ranError{fmt.Errorf("emit machine order: %w", gap)}) },
		"panic": func(w *world) int { w.stdout = faulty{gap}; return run([]string{"version"}, w) },
	} {
		w, _, stderr := here(t)
		if got := code(w); got != exitFailed {
			t.Errorf("%s: exit code %d", name, got)
		}
		const want = "golang.text has no form for ir.Base decimal\n  help: please report"
		if got := stderr.String(); !strings.HasPrefix(got, "fsmgen: fault of the program itself: ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %q", name, got)
		}
	}
}

// faulty panics with what it is given.
type faulty struct{ fault any }

func (f faulty) Write([]byte) (int, error) { panic(f.fault) }

func TestRunsDoNotShareState(t *testing.T) {
	w, stdout, _ := here(t)
	if code := run([]string{"check", "--format", "sarif", "nowhere"}, w); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	if err := os.MkdirAll(filepath.Join(w.dir, "spec"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(w.dir, "spec", "x.yaml"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if code := run([]string{"check"}, w); code != exitFailed || !strings.Contains(stdout.String(), "spec/x.yaml:1:1: error: the file is empty [FSM001]") {
		t.Errorf("exit code %d, got %q", code, stdout)
	}
}

func TestNoColoursWithoutATerminal(t *testing.T) {
	w, _, _ := here(t)
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if w.colour(null) || w.colour(w.stdout) || isTerminal(null) {
		t.Error("colours")
	}
}
