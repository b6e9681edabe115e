package crashtest

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// TestTheJudgeSees spoils, one at a time, what quiet lives left, and expects to
// be told.
func TestTheJudgeSees(t *testing.T) {
	t.Run("upload", func(t *testing.T) { spoil(t, "upload", uploadSpoils()) })
	t.Run("image", func(t *testing.T) { spoil(t, "image", imageSpoils()) })
}

// spoils changes facts or the diary so that a promise is broken.
type spoils map[string]func(f *facts, diary map[string][]entry)

func uploadSpoils() spoils {
	return spoils{
		"follows version": func(f *facts, _ map[string][]entry) { f.history = slices.Delete(f.history, 1, 2) },
		"is not in the table": func(f *facts, _ map[string][]entry) {
			i := slices.IndexFunc(f.history, func(h historyRow) bool { return h.event == "complete_parts" })
			f.history[i].event = "commit_upload"
		},
		"ended in": func(f *facts, _ map[string][]entry) { f.history[1].from = "aborted" },
		"its history ends in": func(f *facts, _ map[string][]entry) {
			for id, r := range f.records["upload"] {
				f.records["upload"][id] = recordRow{r.state, r.version + 1}
				return
			}
		},
		"has a history and no row": func(f *facts, _ map[string][]entry) {
			for id := range f.records["upload"] {
				delete(f.records["upload"], id)
				return
			}
		},
		"has 0 keys": func(f *facts, _ map[string][]entry) { f.keys = f.keys[1:] },
		"has 2 keys": func(f *facts, _ map[string][]entry) { f.keys = append(f.keys, f.keys[0]) },
		"nobody was told": func(_ *facts, diary map[string][]entry) {
			remove(diary, func(e entry) bool { return e.Entry == accepted })
		},
		"its key says":     func(f *facts, _ map[string][]entry) { f.keys = f.keys[1:] },
		"happened 2 times": func(f *facts, _ map[string][]entry) { f.markers = append(f.markers, f.markers[0]) },
		"happened 0 times": func(f *facts, _ map[string][]entry) { f.markers = f.markers[1:] },
		"no step asks for": func(f *facts, _ map[string][]entry) { f.markers[0].version = 99 },
		"has 0 rows":       func(f *facts, _ map[string][]entry) { f.outbox = f.outbox[1:] },
		"has 2 rows":       func(f *facts, _ map[string][]entry) { f.outbox = append(f.outbox, f.outbox[0]) },
		"left behind":      func(f *facts, _ map[string][]entry) { f.outbox[0].state = "delivering" },
		"left behind: dead": func(f *facts, _ map[string][]entry) {
			f.deadlines = append(f.deadlines, deadlineRow{machine: "upload"})
		},
		"was cancelled":   func(f *facts, _ map[string][]entry) { f.outbox[0].cancelled = true },
		"was never left":  func(f *facts, _ map[string][]entry) { f.outbox[0].cancelled = true },
		"which was cance": func(f *facts, _ map[string][]entry) { f.leases[0].cancelled = true },
		"never happened": func(_ *facts, diary map[string][]entry) {
			remove(diary, func(e entry) bool { return e.Entry == done })
		},
		"and is not in the history": func(_ *facts, diary map[string][]entry) {
			change(diary, accepted, func(e *entry) { e.Event = "abort_upload" })
		},
		"the life did not end": func(_ *facts, diary map[string][]entry) {
			remove(diary, func(e entry) bool { return e.Entry == ended })
		},
		"was dispatched as": func(_ *facts, diary map[string][]entry) {
			change(diary, called, func(e *entry) { e.Payload = []byte(`{"other":1}`) })
		},
		"with the unknown id": func(_ *facts, diary map[string][]entry) {
			change(diary, called, func(e *entry) { e.ID = "another key" })
		},
		"follows attempt": func(_ *facts, diary map[string][]entry) { repeat(diary, called) },
		"only when the life had ended": func(_ *facts, diary map[string][]entry) {
			for tag, entries := range diary {
				diary[tag] = append(entries, entries[slices.IndexFunc(entries, func(e entry) bool { return e.Entry == called })], entry{Entry: ended})
			}
		},
	}
}

func imageSpoils() spoils {
	of := func(effect string) func(e entry) bool { return func(e entry) bool { return e.Effect == effect } }
	return spoils{
		"was repeated without being asked for": func(_ *facts, diary map[string][]entry) { repeatIf(diary, called, of("create_device")) },
		"happened 2 times":                     func(_ *facts, diary map[string][]entry) { repeatIf(diary, done, of("create_snapshot")) },
		"was attempted 2 times":                func(_ *facts, diary map[string][]entry) { repeatIf(diary, called, of("extract_layers")) },
		"outlives its state": func(f *facts, _ map[string][]entry) {
			i := slices.IndexFunc(f.outbox, func(o outboxRow) bool { return o.work && o.machine == "download" })
			f.outbox[i].state = "pending"
		},
		"had left its state and not cancelled it": func(_ *facts, diary map[string][]entry) {
			change(diary, called, func(e *entry) { e.Seen += 10 })
		},
		"was called after version": func(_ *facts, diary map[string][]entry) {
			for _, entries := range diary {
				slices.SortStableFunc(entries, func(a, b entry) int { return int(b.Version - a.Version) })
			}
		},
	}
}

func change(diary map[string][]entry, kind entryKind, f func(*entry)) {
	for _, entries := range diary {
		for i := range entries {
			if entries[i].Entry == kind {
				f(&entries[i])
			}
		}
	}
}

func remove(diary map[string][]entry, is func(entry) bool) {
	for tag, entries := range diary {
		diary[tag] = slices.DeleteFunc(entries, is)
	}
}

func repeat(diary map[string][]entry, kind entryKind) {
	repeatIf(diary, kind, func(entry) bool { return true })
}

func repeatIf(diary map[string][]entry, kind entryKind, is func(entry) bool) {
	for tag, entries := range diary {
		var out []entry
		for _, e := range entries {
			out = append(out, e)
			if e.Entry == kind && is(e) {
				out = append(out, e)
			}
		}
		diary[tag] = out
	}
}

func spoil(t *testing.T, name string, all spoils) {
	dir := t.TempDir()
	db := FileDatabase(dir + "/judge.db")
	g, err := groupOf[*sql.Tx](name)
	if err != nil {
		t.Fatal(err)
	}
	conn := prepare(t, db, g)
	p := rehearsal(name, g)
	p.Scenarios = p.Scenarios[:2] // all the kinds of effects are in the first two
	if err := p.store(dir); err != nil {
		t.Fatal(err)
	}
	if err := Live(t.Context(), db, dir); err != nil {
		t.Fatal(err)
	}
	judged := func(f func(*facts, map[string][]entry)) string {
		read, err := readFacts(t.Context(), conn, g)
		if err != nil {
			t.Fatal(err)
		}
		diary, err := readDiaries(dir, p)
		if err != nil {
			t.Fatal(err)
		}
		f(read, diary)
		var problems strings.Builder
		j := newJudge(tablesOf(g), read, diary, func(_, format string, args ...any) { fmt.Fprintf(&problems, format+"\n", args...) })
		j.all()
		if name == "upload" { // callers alone make its steps
			j.keyed()
		}
		return problems.String()
	}
	if problems := judged(func(*facts, map[string][]entry) {}); problems != "" {
		t.Fatalf("what is right is not: %s", problems)
	}
	for _, want := range slices.Sorted(maps.Keys(all)) {
		if problems := judged(all[want]); !strings.Contains(problems, want) {
			t.Errorf("nothing is said about %q, but: %.500s", want, problems)
		}
	}
}

// TestAWindowThatNobodyPassesIsMissed: what no life hits is told.
func TestAWindowThatNobodyPassesIsMissed(t *testing.T) {
	past := map[string][]entry{"r": {{Entry: passed, Machine: "m", Kind: Fire, Point: SaveAfter, N: 1, Label: "go"}}}
	p := plan{Scenarios: []scenario{{Tag: "r", Life: "l"}}}
	planned, missed := choose(p, past, windowsOf("m", []Kind{Fire}), false)
	if len(planned.Scenarios) != 2 || len(missed) != len(eventPoints)-1 {
		t.Fatalf("planned are %v, missed %v", planned.Scenarios, missed)
	}
	if got := exercisedWindows(planned, map[string][]entry{}); len(got) != 0 {
		t.Errorf("without a trace in the diary, windows count as exercised: %v", got)
	}
}
