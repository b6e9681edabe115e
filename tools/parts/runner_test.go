package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// aPart is a part that records what is done with it.
type aPart struct {
	called   string
	findErr  error
	startErr error
	stopErr  error
	events   *[]string
}

func (p *aPart) name() string { return p.called }

func (p *aPart) find(context.Context, logger) error {
	p.record("find")
	return p.findErr
}

func (p *aPart) start(_ context.Context, dir string) (*running, error) {
	p.record("start")
	if p.startErr != nil {
		return nil, p.startErr
	}
	if _, err := os.Stat(dir); err != nil {
		return nil, err
	}
	return &running{
		version: "1.0",
		where:   "started",
		env:     []string{"ADDRESS_OF_" + strings.ToUpper(p.called) + "=here"},
		stop:    func() error { p.record("stop"); return p.stopErr },
	}, nil
}

func (p *aPart) record(what string) {
	*p.events = append(*p.events, what+" "+p.called)
}

// trial is a runner with two parts, and what it printed.
type trial struct {
	runner
	a, b           *aPart
	events         []string
	stdout, stderr bytes.Buffer
}

func newTrial(t *testing.T) *trial {
	tr := &trial{}
	tr.a = &aPart{called: "a", events: &tr.events}
	tr.b = &aPart{called: "b", events: &tr.events}
	tr.runner = runner{
		root: t.TempDir(), dir: t.TempDir(),
		known:  []part{tr.a, tr.b},
		stdout: &tr.stdout, stderr: &tr.stderr,
	}
	return tr
}

func (tr *trial) script(ctx context.Context, wanted []part, script string) int {
	return tr.run(ctx, wanted, []string{"sh", "-c", script})
}

func (tr *trial) expectEvents(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(tr.events, want) {
		t.Errorf("events = %q, want %q", tr.events, want)
	}
}

func (tr *trial) expectOutput(t *testing.T, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(tr.stdout.String(), w) {
			t.Errorf("no %q in the output:\n%s", w, tr.stdout.String())
		}
	}
}

func TestCommandSeesEveryAddress(t *testing.T) {
	tr := newTrial(t)
	code := tr.script(t.Context(), tr.known, `echo "$ADDRESS_OF_A $ADDRESS_OF_B require=$FSMGEN_REQUIRE_PARTS"; pwd`)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, tr.stderr.String())
	}
	root, err := filepath.EvalSymlinks(tr.root)
	if err != nil {
		t.Fatal(err)
	}
	tr.expectOutput(t, "here here require=1\n", root, "a  1.0  started\n", "b  1.0  started\n")
	tr.expectEvents(t, "find a", "start a", "find b", "start b", "stop b", "stop a")
}

func TestCountsOfTheTestsArePrinted(t *testing.T) {
	tr := newTrial(t)
	code := tr.run(context.Background(), tr.known, []string{"sh", "-c", "echo 'wal: 2 cases' >> $FSMGEN_COUNTS; echo 'deal: 3 cases' >> $FSMGEN_COUNTS"})
	if code != 0 || !strings.Contains(tr.stdout.String(), "proofs:\n  deal: 3 cases\n  wal: 2 cases\n") {
		t.Errorf("exit code %d, printed:\n%s%s", code, &tr.stdout, &tr.stderr)
	}
}

func TestExitCodeIsTheCommands(t *testing.T) {
	for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137} {
		tr := newTrial(t)
		if code := tr.script(t.Context(), tr.known, script); code != want {
			t.Errorf("%s: exit code %d, want %d", script, code, want)
		}
		tr.expectEvents(t, "find a", "start a", "find b", "start b", "stop b", "stop a")
	}
}

func TestUnknownCommandFails(t *testing.T) {
	tr := newTrial(t)
	if code := tr.run(t.Context(), tr.known, []string{"no-such-program"}); code != 1 {
		t.Errorf("exit code %d", code)
	}
	tr.expectEvents(t, "find a", "start a", "find b", "start b", "stop b", "stop a")
}

func TestMissingPartIsReportedAndLeftOut(t *testing.T) {
	t.Setenv(requireVariable, "1") // inherited, and not true of this command
	tr := newTrial(t)
	tr.a.findErr = errors.New("install it\nwith care")
	code := tr.script(t.Context(), tr.known, `echo "[$ADDRESS_OF_A$ADDRESS_OF_B] require=[$FSMGEN_REQUIRE_PARTS]"`)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	tr.expectOutput(t, "[here] require=[]", "a  -    COULD NOT BE HAD: install it\n", "b  1.0  started\n")
	tr.expectEvents(t, "find a", "find b", "start b", "stop b")
}

func TestMissingPartFailsWhereRequired(t *testing.T) {
	tr := newTrial(t)
	tr.required = true
	tr.b.startErr = errors.New("port taken")
	if code := tr.script(t.Context(), tr.known, "echo it ran"); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(tr.stdout.String(), "it ran") {
		t.Error("the command ran")
	}
	tr.expectOutput(t, "b  -    COULD NOT BE HAD: port taken\n")
	tr.expectEvents(t, "find a", "start a", "find b", "start b", "stop a")
}

// A part that something stands in for is told of, and is no failure where parts
// are required; that it does not start is one.
func TestDispensablePart(t *testing.T) {
	reason := &dispensableError{instead: "the other one ran", env: []string{"ADDRESS_OF_A=absent"}, err: errors.New("no mirror\nhas it")}
	tr := newTrial(t)
	tr.required, tr.a.findErr = true, reason
	if code := tr.script(t.Context(), tr.known, `echo "[$ADDRESS_OF_A $ADDRESS_OF_B] require=[$FSMGEN_REQUIRE_PARTS]"`); code != 0 {
		t.Errorf("exit code %d", code)
	}
	tr.expectOutput(t, "[absent here] require=[1]", "a  -    the other one ran: no mirror\n", "b  1.0  started\n")

	tr = newTrial(t)
	tr.required, tr.a.startErr = true, errors.New("it ended at once")
	if code := tr.script(t.Context(), tr.known, "true"); code != 1 {
		t.Errorf("exit code %d", code)
	}
}

func TestPartNotAskedFor(t *testing.T) {
	tr := newTrial(t)
	tr.required = true
	code := tr.script(t.Context(), []part{tr.b}, `echo "require=[$FSMGEN_REQUIRE_PARTS]"`)
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	tr.expectOutput(t, "require=[]", "a  -    not asked for\n")
	tr.expectEvents(t, "find b", "start b", "stop b")
}

func TestPartThatDiedFailsTheRun(t *testing.T) {
	tr := newTrial(t)
	tr.a.stopErr = errors.New("ended before it was stopped")
	if code := tr.script(t.Context(), tr.known, "true"); code != 1 {
		t.Errorf("exit code %d", code)
	}
	tr.expectOutput(t, "a  1.0  FAILED: ended before it was stopped\n")
}

func TestInterruptStopsCommandAndParts(t *testing.T) {
	tr := newTrial(t)
	ctx, cancel := context.WithCancel(t.Context())
	tr.runner.stdout = cancelling{cancel}
	if code := tr.script(ctx, tr.known, "echo ready; sleep 100000 & sleep 100000"); code == 0 {
		t.Error("exit code 0")
	}
	tr.expectEvents(t, "find a", "start a", "find b", "start b", "stop b", "stop a")
}

// cancelling cancels once something is printed.
type cancelling struct{ cancel func() }

func (c cancelling) Write(text []byte) (int, error) {
	c.cancel()
	return len(text), nil
}

func TestInterruptBeforeTheCommand(t *testing.T) {
	tr := newTrial(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if code := tr.script(ctx, tr.known, "echo it ran"); code != 1 {
		t.Errorf("exit code %d", code)
	}
	if strings.Contains(tr.stdout.String(), "it ran") {
		t.Error("the command ran")
	}
	tr.expectEvents(t)
}
