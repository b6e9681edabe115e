package proptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ddl"
	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

var machines = []string{"upload", "publish", "outbox", "gc", "registration", "download", "unpack", "activate", "wal", "deal"}

// self answers with the interpreter itself, through JSON.
func self(m *ir.Machine) Subject {
	return func(c Call) Outcome {
		in := interp.Input{Now: c.Now}
		for _, ev := range m.Events {
			if ev.Text == c.Event {
				in.Event = ev
			}
		}
		var err error
		if in.Args, err = interp.UnmarshalPayload(in.Event, c.Payload); err != nil {
			return Outcome{Reason: string(interp.InvalidEvent)}
		}
		for _, who := range callers(m) {
			if who.role != nil && who.role.Text == c.Role {
				in.Actor.Role = who.role
			}
		}
		if in.Actor.ID, err = interp.UnmarshalValue(actorType(m), c.ActorID); err != nil {
			return Outcome{Reason: err.Error()}
		}
		if c.Record == nil {
			id, err := interp.UnmarshalValue(m.ID.Type, c.ID)
			if err != nil {
				return Outcome{Reason: err.Error()}
			}
			return outcome(m)(interp.Create(m, id, in))
		}
		rec, err := interp.UnmarshalRecord(m, c.Record)
		if err != nil {
			return Outcome{Reason: string(interp.Corrupt)}
		}
		return outcome(m)(interp.Fire(m, rec, in))
	}
}

func outcome(m *ir.Machine) func(interp.Result, *interp.Rejection) Outcome {
	return func(result interp.Result, rej *interp.Rejection) Outcome {
		if rej != nil {
			out := Outcome{Reason: string(rej.Reason)}
			if rej.Failure != nil {
				out.Class = rej.Failure.Text
			}
			return out
		}
		out := Outcome{Transitions: rowNames(result), Record: interp.MarshalRecord(m, result.Record)}
		if last := len(result.Steps) - 1; last >= 0 {
			if d := result.Steps[last].Deadline; d.At != nil {
				out.Deadline = &Deadline{At: *d.At, Event: d.Fire.Event.Text, Payload: interp.MarshalPayload(d.Fire.Event, d.Args)}
			}
		}
		for _, s := range result.Steps {
			for _, e := range s.Effects {
				out.Effects = append(out.Effects, json.RawMessage(interp.MarshalEffect(e)))
			}
		}
		return out
	}
}

// recorder notes failures instead of failing.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper()             {}
func (r *recorder) Logf(string, ...any) {}
func (r *recorder) Log(...any)          {}
func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

// TestEveryMachineEqualsItself: the cases, their JSON and the comparison are
// sound, so that a difference is one of the generated package.
func TestEveryMachineEqualsItself(t *testing.T) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			spec := Load(t, "../spec", name)
			Equivalence(t, spec, self(spec.Machine))
		})
	}
}

// TestEveryLieIsFound runs Equivalence on subjects that are wrong in one way.
func TestEveryLieIsFound(t *testing.T) {
	lies := map[string]func(*Outcome){
		"another transition":  func(o *Outcome) { o.Transitions[0] = "start" },
		"a transition more":   func(o *Outcome) { o.Transitions = append(o.Transitions, "start") },
		"already there":       func(o *Outcome) { o.Transitions = []string{} },
		"a rejection":         func(o *Outcome) { *o = Outcome{Reason: string(interp.GuardFailed)} },
		"another digest":      func(o *Outcome) { o.Record = bytes.Replace(o.Record, []byte(`"other-a"`), []byte(`"x"`), 1) },
		"another state":       func(o *Outcome) { o.Record = bytes.Replace(o.Record, []byte(`"committed"`), []byte(`"aborted"`), 1) },
		"an effect forgotten": func(o *Outcome) { o.Effects = o.Effects[:max(0, len(o.Effects)-1)] },
		"an effect's payload": func(o *Outcome) { o.Effects = nil },
		"no deadline":         func(o *Outcome) { o.Deadline = nil },
		"a later deadline": func(o *Outcome) {
			if o.Deadline != nil {
				o.Deadline.At = o.Deadline.At.Add(1000)
			}
		},
	}
	spec := Load(t, "../spec", "upload")
	honest := self(spec.Machine)
	for name, lie := range lies {
		r := &recorder{TB: t}
		count := &tally{}
		for _, s := range situations(spec.Machine, now) {
			for _, c := range callers(spec.Machine) {
				compareAll(r, s, c, func(call Call) Outcome {
					o := honest(call)
					if o.Reason == "" {
						lie(&o)
					}
					return o
				}, count)
			}
		}
		if len(r.failures) == 0 {
			t.Errorf("%s: not found in %d cases", name, count.cases)
		}
	}
}

// TestEveryTriggerIsNeeded drops each trigger of the SQLite schema in turn:
// Databases must notice while it stores records with the triggers that are left.
func TestEveryTriggerIsNeeded(t *testing.T) {
	for _, name := range []string{"upload", "unpack", "wal"} {
		spec := Load(t, "../spec", name)
		root, _ := explore(spec.Machine)
		for _, trigger := range triggers(t, spec.Machine, openSQLite(t, spec, ddl.SQLite(spec.Machine))) {
			d := openSQLite(t, spec, ddl.SQLite(spec.Machine))
			d.must(t, "DROP TRIGGER "+quoted(trigger))
			r := &recorder{TB: t}
			newWalk(r, spec, d).all(root)
			if len(r.failures) == 0 {
				t.Errorf("%s: nothing misses trigger %s", name, trigger)
			}
		}
	}
}

// triggers lists the triggers of the machine's own tables.
func triggers(t *testing.T, m *ir.Machine, d *database) []string {
	t.Helper()
	rows, err := d.conn.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'trigger' AND substr(name, 1, length(?1) + 1) = ?1 || '_'", m.Text)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil || len(names) < 6 {
		t.Fatalf("%d triggers: %v", len(names), err)
	}
	return names
}

// TestOneBrokenConstraintIsFound stores records in a schema that demands more
// than the table does.
func TestOneBrokenConstraintIsFound(t *testing.T) {
	spec := Load(t, "../spec", "upload")
	root, e := explore(spec.Machine)
	d := openSQLite(t, spec, ddl.SQLite(spec.Machine))
	d.must(t, `CREATE TRIGGER extra BEFORE UPDATE ON upload_records WHEN NEW.state = 'committed' BEGIN SELECT RAISE(ABORT, 'no'); END`)
	r := &recorder{TB: t}
	storeAll(r, spec, root, e, d)
	if len(r.failures) == 0 {
		t.Error("a schema that refuses what the machine accepts passes")
	}
}

// TestExplorationReachesEveryRow says which rows no life of a record takes.
func TestExplorationReachesEveryRow(t *testing.T) {
	for _, name := range machines {
		_, e := explore(Load(t, "../spec", name).Machine)
		if missing := e.unreached(); len(missing)*10 > len(e.machine.Rows) {
			t.Errorf("%s: %d of %d rows are not reached: %v", name, len(missing), len(e.machine.Rows), missing)
		}
	}
}

func TestDatabasesOfEveryMachine(t *testing.T) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			spec := Load(t, "../spec", name)
			Databases(t, spec, ddl.Postgres(spec.Machine), ddl.SQLite(spec.Machine))
		})
	}
}

func TestPropertiesOfTheInterpreter(t *testing.T) {
	for _, name := range machines {
		t.Run(name, func(t *testing.T) {
			spec := Load(t, "../spec", name)
			Properties(t, spec, self(spec.Machine))
		})
	}
}
