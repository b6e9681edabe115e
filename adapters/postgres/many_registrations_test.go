package postgres

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// mixed is commits of two machines, with chains of one, two and five steps.
func mixed(t *testing.T) (commits []store.Commit) {
	t.Helper()
	for n := range crowd {
		commits = append(commits, registered(t, n), creation(t, n))
		short := registered(t, crowd+n)
		short.Steps, short.Writes, short.Outbox, short.SetDeadlines = short.Steps[:1+n%2], nil, nil, nil
		commits = append(commits, short)
	}
	return commits
}

// TestManyChainsAreAsOneByOne stores new records and their answers, in one Save
// each or in one a commit.
func TestManyChainsAreAsOneByOne(t *testing.T) {
	t.Parallel()
	written := func(save func(*Store, []store.Commit)) []string {
		d := openDatabase(t)
		s := d.registering(t)
		creations := mixed(t)
		save(s, creations)
		var answers []store.Commit
		for i, n := 0, 0; n < crowd; i, n = i+3, n+1 {
			answers = append(answers, answered(t, n, creations[i].Steps[4].Record))
		}
		rows := d.dump(t, "fsm_deadlines AS x ORDER BY record_id", "fsm_outbox AS x ORDER BY message_id")
		save(s, answers)
		return append(rows, d.dump(t, "registration_records AS x ORDER BY registration_id", "registration_history AS x ORDER BY registration_id, version",
			"deals AS x ORDER BY deal_id", "deal_events AS x ORDER BY deal_id", "nodes AS x ORDER BY node_id",
			"fsm_deadlines AS x ORDER BY record_id", "fsm_outbox AS x ORDER BY message_id")...)
	}
	alone := written(func(s *Store, commits []store.Commit) {
		for _, c := range commits {
			must(t, save(s, c))
		}
	})
	together := written(func(s *Store, commits []store.Commit) { must(t, save(s, commits...)) })
	const chain, short = 6 * crowd, 3 * crowd / 2
	want := 4*crowd + // deadlines and messages before the answers
		2*crowd + chain + short + 2*crowd + crowd + 3*crowd // records, history, deals, nodes, messages
	if len(alone) != want {
		t.Errorf("there are %d rows, want %d", len(alone), want)
	}
	for i := range alone {
		if i >= len(together) || alone[i] != together[i] {
			t.Fatalf("alone:\n%s\ntogether:\n%v", alone[i], together[min(i, len(together)):])
		}
	}
}

// TestManyAreFewStatements counts what is sent for sixteen records.
func TestManyAreFewStatements(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	s := d.registering(t)
	var creations, answers []store.Commit
	for n := range 16 {
		creations = append(creations, registered(t, n))
		answers = append(answers, answered(t, n, creations[n].Steps[4].Record))
	}
	must(t, save(s, creations...)) // has learnt the types
	for name, tt := range map[string]struct {
		commits []store.Commit
		want    int
	}{
		"creations": {creations, 5 + 1 + 2 + 1}, // steps, writes, held and waiting messages, deadlines
		"answers":   {answers, 1 + 1 + 1 + 1},   // steps, tasks, work that ends, deadlines
	} {
		p := &pipeline{texts: &s.texts}
		p.waves(tt.commits)
		if n := p.batch.Len(); n != tt.want {
			t.Errorf("the %s are %d statements, want %d", name, n, tt.want)
		}
	}
}

// TestPlansAreKept: PostgreSQL soon stops planning the statements for several
// records, also for fewer than the ten that it takes an array for.
func TestPlansAreKept(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	s := d.registering(t)
	conn, err := s.pool.Acquire(context.Background())
	must(t, err)
	defer conn.Release()
	const rounds = 8
	for round := range rounds {
		var creations, answers []store.Commit
		for i := range several {
			n := round*several + i
			creations = append(creations, registered(t, n))
			answers = append(answers, answered(t, n, creations[i].Steps[4].Record))
		}
		for _, commits := range [][]store.Commit{creations, answers} {
			must(t, pgx.BeginFunc(context.Background(), conn, func(tx pgx.Tx) error {
				return s.Save(context.Background(), tx, commits)
			}))
		}
	}
	rows, err := conn.Query(context.Background(), `SELECT statement FROM pg_prepared_statements
		WHERE statement LIKE '%LIMIT cardinality%' AND custom_plans + generic_plans >= $1 AND generic_plans <= custom_plans - 3`, rounds)
	must(t, err)
	planned, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(t, err)
	if len(planned) > 0 {
		t.Errorf("these are planned anew each time: %q", planned)
	}
	var kept int
	must(t, conn.QueryRow(context.Background(), "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE '%LIMIT cardinality%' AND statement NOT LIKE '%pg_prepared%' AND generic_plans > 0").Scan(&kept))
	if kept != 9 {
		t.Errorf("the plans of %d statements are kept, want those of 9: five kinds of steps, writes, tasks, work and deadlines", kept)
	}
}

// TestOneOfManyCreationsIsThere names the record, of another Save or the same.
func TestOneOfManyCreationsIsThere(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	s := d.registering(t)
	var commits []store.Commit
	for n := range crowd {
		commits = append(commits, registered(t, n))
	}
	must(t, save(s, commits[5]))
	fresh := slices.Delete(slices.Clone(commits), 5, 6)
	for name, commits := range map[string][]store.Commit{"there": commits, "twice": append(fresh, fresh[3])} {
		err := save(s, commits...)
		var exists *store.ExistsError
		if !errors.As(err, &exists) || exists.Machine != "registration" || exists.ID != id(5) && exists.ID != id(3) {
			t.Errorf("%s: the error is %v, want an ExistsError", name, err)
		}
		if n := d.count(t, "registration_records"); n != 1 {
			t.Errorf("%s: there are %d records, want 1", name, n)
		}
	}
}

// TestOneOfManyChainsIsRefused breaks one of the chains in several ways. Nothing
// of the Save is there then.
func TestOneOfManyChainsIsRefused(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		harm func(*store.Commit)
		is   func(error) bool
	}{
		"unique": {
			// The node of another one: it is unique among those that live.
			func(c *store.Commit) { *c = withNode(t, c, 4) },
			func(err error) bool {
				var e *store.UniqueError
				return errors.As(err, &e) && e.Machine == "registration" && e.Constraint == "registration_one_live_registration"
			},
		},
		"creation":    {func(c *store.Commit) { c.Steps[0].Event = "REGISTER" }, refusedOne},
		"later step":  {func(c *store.Commit) { c.Steps[3].Event = "REGISTER" }, refusedOne},
		"write":       {func(c *store.Commit) { c.Writes[0].Key[0].Value = "longer than twelve" }, refusedOne},
		"lost record": {func(c *store.Commit) { c.Steps[2].Version++ }, conflicts(5, 3, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := openDatabase(t)
			s := d.registering(t)
			var commits []store.Commit
			for n := range crowd {
				commits = append(commits, registered(t, n))
			}
			tt.harm(&commits[5])
			if err := save(s, commits...); !tt.is(err) {
				t.Errorf("the error is %v", err)
			}
			for _, table := range []string{"registration_records", "registration_history", "nodes", "fsm_outbox", "fsm_deadlines"} {
				if n := d.count(t, table); n != 0 {
					t.Errorf("there are %d rows in %s", n, table)
				}
			}
		})
	}
}

// withNode is c as it would be with the node of the n-th registration.
func withNode(t *testing.T, c *store.Commit, n int) store.Commit {
	other := registered(t, n)
	other.ID, other.IDValue = c.ID, c.IDValue
	for i := range other.Steps {
		other.Steps[i].EventID = c.Steps[i].EventID
	}
	return other
}

func refusedOne(err error) bool {
	var e *store.RefusedError
	return errors.As(err, &e) && e.Machine == "registration"
}

// conflicts wants a conflict that names the n-th record.
func conflicts(n int, expected, version int64) func(error) bool {
	return func(err error) bool {
		var e *store.ConflictError
		return errors.As(err, &e) && e.ID == id(n) && e.Expected == expected && e.Version == version
	}
}

// TestManyWritesKeepTheirOrder writes rows twice, with one that goes and some that
// are not there in between.
func TestManyWritesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	d := openDatabase(t)
	s := d.registering(t)
	var commits []store.Commit
	for n := range 2 * crowd {
		c := registrationOf(n)
		w := node(n % crowd)
		w.Columns[1].Value = int64(n)
		c.Writes = []fsm.TableWrite{w}
		commits = append(commits, c)
	}
	gone := registrationOf(2 * crowd)
	gone.Writes = []fsm.TableWrite{{Table: "nodes", Op: fsm.EffectDelete, Key: node(3).Key}}
	commits = append(commits, gone)
	for n := range crowd { // updates of what is not there
		c := registrationOf(4*crowd + n)
		c.Writes = []fsm.TableWrite{{Table: "nodes", Op: fsm.EffectUpdate, Key: node(200 + n).Key, Columns: node(n).Columns}}
		commits = append(commits, c)
	}
	for n := range crowd {
		c := registrationOf(3*crowd + n)
		c.Writes = []fsm.TableWrite{{Table: "nodes", Op: fsm.EffectUpsert, Key: node(100 + n).Key, Columns: node(n).Columns}}
		commits = append(commits, c)
	}
	must(t, save(s, commits...))
	if n := d.count(t, fmt.Sprintf("nodes WHERE number BETWEEN %d AND %d", crowd, 2*crowd-1)); n != crowd-1 {
		t.Errorf("%d rows are as they were written last, want %d", n, crowd-1)
	}
	if n := d.count(t, "nodes"); n != 2*crowd-1 {
		t.Errorf("there are %d rows, want %d", n, 2*crowd-1)
	}
}

// TestWaves: records that others start are written behind these, all others
// together.
func TestWaves(t *testing.T) {
	t.Parallel()
	step := func(machine, id string, by fsm.Caller, version int64, cause string) store.Commit {
		return store.Commit{Machine: machine, ID: id, Steps: []store.StepWrite{{HistoryRow: store.HistoryRow{Version: version, By: by, Correlation: cause}}}}
	}
	other := fsm.Caller{Role: "external"}
	for name, tt := range map[string]struct {
		commits []store.Commit
		want    [][]string
	}{
		"people create": {[]store.Commit{step("a", "1", other, 1, ""), step("b", "2", other, 1, ""), step("a", "3", other, 1, "")}, [][]string{{"1", "2", "3"}}},
		"steps start": {
			[]store.Commit{step("a", "1", other, 2, ""), step("b", "2", fsm.System(), 1, ""), step("a", "3", other, 5, ""), step("b", "4", fsm.System(), 1, ""), step("c", "5", fsm.System(), 1, "")},
			[][]string{{"1", "3"}, {"2", "4"}, {"5"}},
		},
		"another cause":      {[]store.Commit{step("a", "1", other, 2, "x"), step("b", "2", fsm.System(), 1, "y")}, [][]string{{"1", "2"}}},
		"the system creates": {[]store.Commit{step("a", "1", fsm.System(), 1, ""), step("a", "2", fsm.System(), 1, "")}, [][]string{{"1", "2"}}},
		"two starts":         {[]store.Commit{step("a", "1", other, 2, ""), step("b", "2", fsm.System(), 1, ""), step("b", "3", fsm.System(), 1, "")}, [][]string{{"1"}, {"2", "3"}}},
		"no steps":           {[]store.Commit{{Machine: "a", ID: "1"}, step("a", "2", other, 1, ""), {Machine: "a", ID: "3"}}, [][]string{{"1", "3"}, {"2"}}},
		"a record twice":     {[]store.Commit{step("a", "1", other, 2, ""), step("a", "2", other, 2, ""), step("a", "1", other, 3, "")}, [][]string{{"1", "2"}, {"1"}}},
	} {
		var got [][]string
		for _, wave := range waves(tt.commits) {
			got = append(got, column(wave, func(c *store.Commit) string { return c.ID }))
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s: the waves are %v, want %v", name, got, tt.want)
		}
	}
}
