package crash

import (
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/proptest/facts"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// TestTheCheckerSees corrupts, one at a time, the facts of uninterrupted runs, and
// expects the checker to report it.
func TestTheCheckerSees(t *testing.T) {
	t.Run("upload", func(t *testing.T) { checkCorruptions(t, uploads(), true, uploadCorruptions()) })
	t.Run("unpack", func(t *testing.T) { checkCorruptions(t, unpacks(), false, unpackCorruptions()) })
}

// uploads is a machine with effects of several classes whose steps callers make.
func uploads() Subject {
	return Subject{Specs: "../../spec", Machines: []Member{Fixed(upload.Define[any](nil), upload.Transitions())}}
}

// unpacks is a machine that is started and starts another, and has work of every class.
func unpacks() Subject {
	return Subject{Specs: "../../spec", Machines: []Member{
		Tuned(func(p unpack.Params) engine.Machine[any] { return unpack.Define[any](nil, p) }, unpack.Transitions()),
		Tuned(func(p download.Params) engine.Machine[any] { return download.Define[any](nil, p) }, download.Transitions()),
		Fixed(activate.Define[any](nil), activate.Transitions()),
	}}
}

// corruptions change the facts or the event logs so that the checker must report a
// problem. The key is part of its text.
type corruptions map[string]func(f *evidence, logs map[string][]entry)

func uploadCorruptions() corruptions {
	return corruptions{
		"follows version": func(f *evidence, _ map[string][]entry) { f.Steps = slices.Delete(f.Steps, 1, 2) },
		"is not in the table": func(f *evidence, _ map[string][]entry) {
			i := slices.IndexFunc(f.Steps, func(h facts.Step) bool { return h.Event == "complete_parts" })
			f.Steps[i].Event = "commit_upload"
		},
		"ended in": func(f *evidence, _ map[string][]entry) { f.Steps[1].From = "aborted" },
		"its history ends in": func(f *evidence, _ map[string][]entry) {
			f.Records[0].Version++
		},
		"has a history and no row": func(f *evidence, _ map[string][]entry) {
			f.Records = f.Records[1:]
		},
		"has 0 keys": func(f *evidence, _ map[string][]entry) { f.Keys = f.Keys[1:] },
		"has 2 keys": func(f *evidence, _ map[string][]entry) { f.Keys = append(f.Keys, f.Keys[0]) },
		"no caller was told": func(_ *evidence, logs map[string][]entry) {
			remove(logs, func(e entry) bool { return e.Entry == accepted })
		},
		"its key says":     func(f *evidence, _ map[string][]entry) { f.Keys = f.Keys[1:] },
		"happened 2 times": func(f *evidence, _ map[string][]entry) { f.Traces = append(f.Traces, f.Traces[0]) },
		"happened 0 times": func(f *evidence, _ map[string][]entry) { f.Traces = f.Traces[1:] },
		"no step asks for": func(f *evidence, _ map[string][]entry) { f.Traces[0].Version = 99 },
		"has 0 rows":       func(f *evidence, _ map[string][]entry) { f.Messages = f.Messages[1:] },
		"has 2 rows":       func(f *evidence, _ map[string][]entry) { f.Messages = append(f.Messages, f.Messages[0]) },
		"left behind":      func(f *evidence, _ map[string][]entry) { f.Messages[0].State = "delivering" },
		"left behind: dead": func(f *evidence, _ map[string][]entry) {
			f.Deadlines = append(f.Deadlines, facts.Deadline{Machine: "upload"})
		},
		"was cancelled":   func(f *evidence, _ map[string][]entry) { f.Messages[0].Cancelled = true },
		"was never left":  func(f *evidence, _ map[string][]entry) { f.Messages[0].Cancelled = true },
		"which was cance": func(f *evidence, _ map[string][]entry) { f.leases[0].cancelled = true },
		"never happened": func(_ *evidence, logs map[string][]entry) {
			remove(logs, func(e entry) bool { return e.Entry == done })
		},
		"and is not in the history": func(_ *evidence, logs map[string][]entry) {
			change(logs, accepted, func(e *entry) { e.Event = "abort_upload" })
		},
		"the scenario did not end": func(_ *evidence, logs map[string][]entry) {
			remove(logs, func(e entry) bool { return e.Entry == ended })
		},
		"was dispatched as": func(_ *evidence, logs map[string][]entry) {
			change(logs, called, func(e *entry) { e.Payload = []byte(`{"other":1}`) })
		},
		"with the unknown id": func(_ *evidence, logs map[string][]entry) {
			change(logs, called, func(e *entry) { e.ID = "another key" })
		},
		"follows attempt": func(_ *evidence, logs map[string][]entry) { repeat(logs, called) },
		"only when the scenario had ended": func(_ *evidence, logs map[string][]entry) {
			for tag, entries := range logs {
				logs[tag] = append(entries, entries[slices.IndexFunc(entries, func(e entry) bool { return e.Entry == called })], entry{Entry: ended})
			}
		},
	}
}

func unpackCorruptions() corruptions {
	of := func(effect string) func(e entry) bool { return func(e entry) bool { return e.Effect == effect } }
	return corruptions{
		"was repeated without being asked for": func(_ *evidence, logs map[string][]entry) { repeatIf(logs, called, of("create_device")) },
		"happened 2 times":                     func(_ *evidence, logs map[string][]entry) { repeatIf(logs, done, of("create_device")) },
		"happened 4 times": func(f *evidence, logs map[string][]entry) { // two attempts without an outcome allow three
			repeatIf(logs, done, of("unmount_device"))
			repeatIf(logs, done, of("unmount_device"))
			for i := range f.Messages {
				f.Messages[i].Cut = 2
			}
		},
		"was attempted 2 times": func(_ *evidence, logs map[string][]entry) { repeatIf(logs, called, of("extract_layers")) },
		"is left after its state": func(f *evidence, _ map[string][]entry) {
			i := slices.IndexFunc(f.Messages, func(o facts.Message) bool { return o.Work && o.Machine == "download" })
			f.Messages[i].State = "pending"
		},
		"had left its state and not cancelled it": func(_ *evidence, logs map[string][]entry) {
			change(logs, called, func(e *entry) { e.Seen += 10 })
		},
		"was called after version": func(_ *evidence, logs map[string][]entry) {
			for _, entries := range logs {
				slices.SortStableFunc(entries, func(a, b entry) int { return int(b.Version - a.Version) })
			}
		},
	}
}

func change(logs map[string][]entry, kind entryKind, f func(*entry)) {
	for _, entries := range logs {
		for i := range entries {
			if entries[i].Entry == kind {
				f(&entries[i])
			}
		}
	}
}

func remove(logs map[string][]entry, is func(entry) bool) {
	for tag, entries := range logs {
		logs[tag] = slices.DeleteFunc(entries, is)
	}
}

func repeat(logs map[string][]entry, kind entryKind) {
	repeatIf(logs, kind, func(entry) bool { return true })
}

func repeatIf(logs map[string][]entry, kind entryKind, is func(entry) bool) {
	for tag, entries := range logs {
		var out []entry
		for _, e := range entries {
			out = append(out, e)
			if e.Entry == kind && is(e) {
				out = append(out, e)
			}
		}
		logs[tag] = out
	}
}

// runUninterrupted runs the scenarios of a subject in this process.
func runUninterrupted[Tx any](t *testing.T, subject Subject, d Database[Tx], pick func(scenarios.Script) bool) (scenarioSet, plan, string, *sql.DB) {
	t.Helper()
	set, err := subject.scenarioSet()
	if err != nil {
		t.Fatal(err)
	}
	conn := prepare(t, d, set.machines)
	p, err := set.uninterrupted()
	if err != nil {
		t.Fatal(err)
	}
	p.Runs = slices.DeleteFunc(p.Runs, func(sc plannedRun) bool { return !pick(sc.Script) })
	dir := t.TempDir()
	if err := p.store(dir); err != nil {
		t.Fatal(err)
	}
	if err := runScenarios(t.Context(), d, subject, dir); err != nil {
		t.Fatal(err)
	}
	return set, p, dir, conn
}

// checkCorruptions checks the correct facts, and then each corruption. keyed says that
// only callers make steps.
func checkCorruptions(t *testing.T, subject Subject, keyed bool, all corruptions) {
	d := FileDatabase(filepath.Join(t.TempDir(), "checker.db"))
	set, p, dir, conn := runUninterrupted(t, subject, d, func(s scenarios.Script) bool {
		return !keyed || len(s.Steps) == 4 && !slices.ContainsFunc(s.Steps, func(st scenarios.Step) bool { return st.Event == nil })
	})
	judged := func(f func(*evidence, map[string][]entry)) string {
		read, err := readEvidence(t.Context(), conn, set.machines)
		if err != nil {
			t.Fatal(err)
		}
		logs, err := readEventLogs(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		f(read, logs)
		var problems strings.Builder
		c := newChecker(tablesOf(set.machines), read, logs, func(_, format string, args ...any) { fmt.Fprintf(&problems, format+"\n", args...) })
		c.check()
		if keyed {
			c.keyed()
		}
		return problems.String()
	}
	if problems := judged(func(*evidence, map[string][]entry) {}); problems != "" {
		t.Fatalf("what is right is not: %s", problems)
	}
	for _, want := range slices.Sorted(maps.Keys(all)) {
		if problems := judged(all[want]); !strings.Contains(problems, want) {
			t.Errorf("nothing is said about %q, but: %.500s", want, problems)
		}
	}
}

// TestAWindowThatNobodyPassesIsMissed: a window that no scenario hits is reported.
func TestAWindowThatNobodyPassesIsMissed(t *testing.T) {
	set, err := uploads().scenarioSet()
	if err != nil {
		t.Fatal(err)
	}
	p, err := set.uninterrupted()
	if err != nil {
		t.Fatal(err)
	}
	first := p.Runs[0].Tag
	past := map[string][]entry{first: {{Entry: passed, Scenario: first, Machine: "upload", Kind: Fire, Point: SaveAfter, N: 1, Label: "go"}}}
	planned, missed, err := set.choose(p, past, windowsOf("upload", []Kind{Fire}), false)
	if err != nil {
		t.Fatal(err)
	}
	if len(planned.Runs) != len(p.Runs)+1 || len(missed) != len(eventPoints)-1 {
		t.Fatalf("planned are %v, missed %v", planned.Runs, missed)
	}
	if got := exercisedWindows(planned, map[string][]entry{}); len(got) != 0 {
		t.Errorf("without an entry in the event log, windows count as exercised: %v", got)
	}
}
