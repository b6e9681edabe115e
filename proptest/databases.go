package proptest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// Databases stores every record that an exploration from creation reaches in
// SQLite and in PostgreSQL, step by step as an engine would, and reads each
// back. On the way both must refuse whatever the table refuses. Then every
// record that the cases of Equivalence produce must satisfy the constraints.
//
// The two scripts are those of the generated package; the tables of other
// machines that they need are made from the specs.
//
// PostgreSQL is named by FSMGEN_POSTGRES_DSN. Without it that half is
// skipped, or fails where the parts are required. Nothing is committed.
func Databases(t *testing.T, spec *Spec, postgres, sqlite string) {
	t.Helper()
	root, e := explore(spec.Machine)
	t.Run("sqlite", func(t *testing.T) { storeAll(t, spec, root, e, openSQLite(t, spec, sqlite)) })
	t.Run("postgres", func(t *testing.T) {
		storeAll(t, spec, root, e, openPostgres(t, spec, postgres, pgtest.DSN(t)))
	})
}

func storeAll(t testing.TB, spec *Spec, root *node, e *explorer, d *database) {
	t.Helper()
	w := newWalk(t, spec, d)
	w.all(root)
	w.constraints()
	w.report(e)
}

// walk stores the tree of calls depth first; each branch is taken back before
// the next.
type walk struct {
	t        testing.TB
	machine  *ir.Machine
	db       *database
	stored   int
	produced int // records stored without triggers
	// producible is how many there are; above maxProduced it is a sample.
	producible int
	tables     int             // rows written to other tables
	done       map[string]bool // refusals that were tried
	refused    map[string]int  // by kind
	failures   int
}

func newWalk(t testing.TB, spec *Spec, d *database) *walk {
	return &walk{t: t, machine: spec.Machine, db: d, done: map[string]bool{}, refused: map[string]int{}}
}

// all stores the tree below root.
func (w *walk) all(root *node) {
	w.attempts(func() { w.creation(root) })
	w.visit(root)
}

func (w *walk) visit(n *node) {
	for _, child := range n.children {
		if w.failures >= maxFailures {
			return
		}
		w.attempts(func() { w.untold(child) })
		err := w.db.undo(w.t, func() error {
			path := n.path()
			for _, s := range child.steps {
				path = append(path, s)
				w.attempts(func() { w.before(s) })
				if err := w.store(s); err != nil {
					return fmt.Errorf("%s from %s on %s: %w", s.Row, stateName(s.Before.State), interp.MarshalRecord(w.machine, s.Before), err)
				}
				w.attempts(func() { w.after(s) })
				w.attempts(func() { w.taken(path) })
			}
			w.visit(child)
			return nil
		})
		if err != nil {
			w.errorf("refuses what the interpreter accepts: %v", err)
		}
	}
}

// store writes one step as an engine does: the record, its history row, and
// the table rows of its effects.
func (w *walk) store(s interp.Step) error {
	if err := w.db.writeRecord(w.machine, s, rowOf(s)); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	w.attempts(func() { w.between(s) })
	if err := w.db.insertHistory(w.machine, historyOf(s)); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	if err := w.db.settle(); err != nil {
		return fmt.Errorf("at the end of a transaction: %w", err)
	}
	if err := w.db.reads(w.machine, s.After); err != nil {
		return err
	}
	w.stored++
	for _, e := range s.Effects {
		if e.Effect != nil && e.Effect.Table != nil {
			if err := w.tableEffect(e); err != nil {
				return fmt.Errorf("effect %s: %w", e.Name(), err)
			}
		}
	}
	return nil
}

func (w *walk) errorf(format string, args ...any) {
	w.t.Helper()
	w.failures++
	w.t.Errorf("%s: %s %s", w.machine, w.db.name, fmt.Sprintf(format, args...))
}

// report logs the counts. A machine of which nothing was stored or refused
// was not tested.
func (w *walk) report(e *explorer) {
	w.t.Helper()
	total := 0
	var kinds []string
	for _, kind := range kindsOfRefusal {
		if n := w.refused[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%s %s", thousands(n), kind))
			total += n
		}
	}
	Count(w.t, "%s: %s stored %s records along their transitions (%s table rows) and %s of %s of Equivalence, and refused %s writes: %s",
		w.machine, w.db.name, thousands(w.stored), thousands(w.tables), thousands(w.produced), thousands(w.producible), thousands(total), strings.Join(kinds, ", "))
	if clauses := w.unbroken(); len(clauses) > 0 {
		Count(w.t, "%s: no record breaks just %s", w.machine, strings.Join(clauses, "; "))
	}
	if missing := w.untaken(); len(missing) > 0 {
		Count(w.t, "%s: no second record came to the key %s", w.machine, strings.Join(missing, ", "))
	}
	if missing := e.unreached(); len(missing) > 0 {
		Count(w.t, "%s: no call reached %s", w.machine, strings.Join(missing, ", "))
	}
	if w.stored == 0 || total == 0 {
		w.errorf("stored %d records and refused %d", w.stored, total)
	}
}
