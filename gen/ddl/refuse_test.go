package ddl_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

const (
	sampleID = "'00000000-0000-4000-8000-000000000001'"
	otherID  = "'00000000-0000-4000-8000-000000000002'"
	noon     = "'2026-01-02T12:00:00.000000Z'"
	one      = "'2026-01-02T13:00:00.000000Z'"
)

// row is a set of columns with SQL values.
type row map[string]string

func (r row) with(changes row) row {
	out := maps.Clone(r)
	maps.Copy(out, changes)
	return out
}

func (r row) insert(table string) string {
	cols := slices.Sorted(maps.Keys(r))
	values := make([]string, len(cols))
	for i, c := range cols {
		values[i] = r[c]
	}
	return "INSERT INTO " + table + " (" + strings.Join(cols, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
}

// newSample is a creation that every rule accepts.
func newSample(changes row) string {
	return row{
		"sample_id": sampleID, "phase": "'open'", "version": "1", "last_event": "'register'", "entered_at": noon,
		"student_id": "7", "title": "'maths'", "created_at": noon, "updated_at": noon,
	}.with(changes).insert("samples")
}

// step is an UPDATE as an engine writes it.
func step(event, phase string, sets ...string) string {
	all := append([]string{"version = version + 1", "last_event = '" + event + "'", "phase = '" + phase + "'"}, sets...)
	return "UPDATE samples SET " + strings.Join(all, ", ") + " WHERE sample_id = " + sampleID
}

// told is the history row of a step.
func told(version, event, from, to string, changes row) string {
	r := row{
		"event_id": otherID, "sample_id": sampleID, "version": version, "event_type": "'" + event + "'",
		"from_phase": from, "to_phase": "'" + to + "'", "transition": "'" + event + "'",
		"actor_role": "'student'", "actor_id": "7", "payload": "'{}'", "created_at": noon,
	}
	return r.with(changes).insert("sample_steps")
}

var (
	created = newSample(nil)
	opened  = told("1", "register", "NULL", "open", nil)
	started = step("start", "running", "room = 'r1'")
	result  = row{"result_id": "'r'", "verified": "true", "grade": "'good'"}
	diploma = row{"diploma_id": "'d'", "result_id": "'r'"}
)

// refusal is a statement that one rule alone refuses: with the rule lifted the
// database accepts it.
type refusal struct {
	name   string
	before []string
	stmt   string
	// check names the CHECK that refuses, or the rule of the function that
	// PostgreSQL asks; else trigger does, with the SQLSTATE and message of a rule.
	// Of {a|b} in a message a server that shows values says a, any other b.
	table, check   string
	trigger, state string
	message        string
	// elements is what a server without arrays says, which looks into the list with a trigger.
	elements string
}

func sampleRefusals() []refusal {
	running := []string{created, started}
	closed := []string{created, step("close", "closed")}
	return slices.Concat(checkRefusals(running), triggerRefusals(running, closed), stepRefusals(running), historyRefusals(), tableRefusals())
}

// stepRefusals are what a step writes and no row of its edge does.
func stepRefusals(running []string) []refusal {
	update := func(name string, before []string, message, stmt string) refusal {
		return refusal{name: "step, " + name, before: before, stmt: stmt, table: "samples", trigger: "sample_update", state: "FS008", message: "step: " + message}
	}
	insert := func(name, message string, changes row) refusal {
		return refusal{name: "step, " + name, stmt: newSample(changes), table: "samples", trigger: "sample_insert", state: "FS008", message: "step: " + message}
	}
	const annul = "annul from running to closed: annul "
	void := step("annul", "closed", "grade = 'bad'", "starts_at = updated_at", "ends_at = NULL")
	five := append(slices.Clone(running), step("answer", "running", "points = 5"))
	nine := append(slices.Clone(running), step("answer", "running", "points = 9"))
	return []refusal{
		insert("creation", "room is not written by {register|NEW.last_event}, it begins as NULL and not as {r|NEW.room}", row{"room": "'r'"}),
		insert("creation at another time", "the state is entered when the step is taken, not at", row{"entered_at": one}),
		update("column", running, "title is not written by {answer from running, it stays maths and does not become art|NEW.last_event from OLD.phase, it stays OLD.title and does not become NEW.title}",
			step("answer", "running", "title = 'art'")),
		update("column of another edge", []string{created}, "points is not written by", step("close", "closed", "points = 3")),
		update("entry", running, "the state is entered when the step is taken, not at", step("close", "closed", "entered_at = "+one)),
		update("no entry", running, "the step does not enter its state, and entered_at does not become", step("answer", "running", "entered_at = "+one, "updated_at = "+one)),
		update("guard", five, annul+"demands points == 0", void),
		update("literal", running, annul+"sets grade: bad, and grade is {good|NEW.grade}", step("annul", "closed", "grade = 'good'", "starts_at = updated_at")),
		update("time", running, annul+"sets starts_at: $now, and starts_at is", step("annul", "closed", "grade = 'bad'", "starts_at = "+one)),
		update("null", running, annul+"sets ends_at: null, and ends_at is", step("annul", "closed", "grade = 'bad'", "starts_at = updated_at", "ends_at = "+one)),
		update("sum", five, "extra from running to running: no row makes this of the record", step("extra", "running", "points = 7")),
		update("sum of a row that is closed", nine, "extra from running to running: no row makes this of the record", step("extra", "running", "points = 10")),
		update("otherwise, though another row holds", five[:2:2], "extra from running to running: no row makes this of the record", step("extra", "running", "goal = 0")),
		update("what two rows write", nine, "extra from running to running: no row makes this of the record", step("extra", "running", "goal = 9", "points = 10")),
	}
}

func checkRefusals(running []string) []refusal {
	samples := func(name, check string, changes row) refusal {
		return refusal{name: name, stmt: newSample(changes), table: "samples", check: check}
	}
	return []refusal{
		samples("int below min", "sample_points_range", row{"points": "-1"}),
		samples("string below min", "sample_title_range", row{"title": "'ü'"}),
		samples("string above max", "sample_title_range", row{"title": "'üüüüüü'"}),
		samples("enum value", "sample_grade_declared", row{"grade": "'GOOD'"}),
		samples("int above max", "sample_points_range", row{"points": "11"}),
		samples("always", "sample_small_goal", row{"goal": "101"}),
		{name: "enum in list", stmt: newSample(row{"marks": "$list$good$or$great$list$"}), table: "samples", check: "sample_marks_list", elements: "marks holds only grade"},
		{name: "holds", before: []string{created}, stmt: step("start", "running"), table: "samples", check: "sample_running_holds"},
		{name: "holds, absent operand", before: running, stmt: step("finish", "done", "points = 7"), table: "samples", check: "sample_done_holds"},
		{name: "holds, comparison", before: running, stmt: step("finish", "done", "grade = 'good', points = 4"), table: "samples", check: "sample_done_holds"},
		{name: "holds, in", before: running, stmt: step("finish", "done", "grade = 'bad', points = 7"), table: "samples", check: "sample_done_holds"},
	}
}

func triggerRefusals(running, closed []string) []refusal {
	insert := func(name, state, message string, changes row) refusal {
		return refusal{name: name, stmt: newSample(changes), table: "samples", trigger: "sample_insert", state: state, message: message}
	}
	update := func(name string, before []string, stmt, state, message string) refusal {
		return refusal{name: name, before: before, stmt: stmt, table: "samples", trigger: "sample_update", state: state, message: message}
	}
	id := "{ " + strings.Trim(sampleID, "'") + "|}"
	return []refusal{
		insert("creation with a version", "FS002", "fsmgen: sample"+id+": version: a new record has version 1, not {2|NEW.version}", row{"version": "2"}),
		insert("creation in another state", "FS001", id+": edge: no record is created by {register in closed|NEW.last_event in NEW.phase}", row{"phase": "'closed'"}),
		insert("creation by another event", "FS001", id+": edge: no record is created by {start in open|NEW.last_event in NEW.phase}", row{"last_event": "'start'"}),
		update("version skipped", []string{created}, step("close", "closed", "room = 'r'")+" AND (1=1)", "", "").skipVersion(),
		update("no such edge", []string{created}, step("answer", "open"), "FS001", id+": edge: no transition from open on {answer to open|NEW.last_event to NEW.phase. From there lead }"),
		update("edge of another state", []string{created}, step("close", "open"), "FS001", "no transition from open on {close to open|NEW.last_event to NEW.phase}"),
		update("internal row that moves", running, step("answer", "open"), "FS001", "no transition from running on {answer to open|NEW.last_event to NEW.phase}"),
		update("row that rejects", closed, step("start", "closed"), "FS001", "no transition from closed on {start to closed|NEW.last_event to NEW.phase}"),
		update("never unless, derived operand", []string{created, step("start", "running", "room = 'none'"), step("close", "closed")}, step("reopen", "open"), "FS005", "invariant: paid_seat forbids {closed to open|OLD.phase to NEW.phase}"),
		update("id", []string{created}, step("close", "closed", "sample_id = "+otherID), "FS003", id+": immutable: sample_id never changes"),
		update("created_at", []string{created}, step("close", "closed", "created_at = "+one), "FS003", "immutable: created_at never changes"),
		update("required write-once field", []string{created}, step("close", "closed", "student_id = 8"), "FS003", "immutable: student_id is written once, it stays {7 and does not become 8|OLD.student_id and does not become NEW.student_id}"),
		update("optional write-once field", running, step("close", "closed", "room = 'r2'"), "FS003", "immutable: room is written once, it stays {r1 and does not become r2|OLD.room and does not become NEW.room}"),
		update("write-once field cleared", running, step("close", "closed", "room = NULL"), "FS003", "immutable: room is written once"),
		update("never unless, clause false", append(running, step("close", "closed", "passed = true")), step("reopen", "open"), "FS005", "invariant: paid_seat forbids {closed to open|OLD.phase to NEW.phase}"),
		update("never unless, operand absent", closed, step("reopen", "open"), "FS005", "invariant: paid_seat forbids {closed to open|OLD.phase to NEW.phase}"),
		update("never", []string{newSample(row{"points": "7", "grade": "'good'"}), step("close", "closed")}, step("judge", "done"), "FS005", "invariant: never_judged forbids {closed to done|OLD.phase to NEW.phase}"),
		{name: "delete", before: []string{created}, stmt: "DELETE FROM samples", table: "samples", trigger: "sample_delete", state: "FS006", message: id + ": delete: records are never deleted, this one is in {open|OLD.phase}"},
	}
}

// skipVersion makes an update step over a version.
func (r refusal) skipVersion() refusal {
	r.stmt = "UPDATE samples SET version = version + 2, last_event = 'close', phase = 'closed'"
	r.state, r.message = "FS002", "version: a step leads from version {1|OLD.version} to the next, not to {3|NEW.version}"
	return r
}

func historyRefusals() []refusal {
	trigger := func(name, trigger, message string, before []string, stmt string) refusal {
		return refusal{name: "history " + name, before: before, stmt: stmt, table: "sample_steps", trigger: trigger, state: "FS004", message: message}
	}
	transition := func(name, message string, before []string, stmt string) refusal {
		return trigger(name, "sample_history_insert", "history: {"+message+"|NEW.transition is no transition from NEW.from_phase on NEW.event_type to NEW.to_phase by NEW.actor_role}", before, stmt)
	}
	matches := func(name, message string, before []string, stmt string) refusal {
		return trigger(name, "sample_history_insert", "history: the record is not in {"+message+"|NEW.to_phase by NEW.event_type at version NEW.version since NEW.created_at}", before, stmt)
	}
	both, closing := []string{created, opened}, []string{created, step("close", "closed")}
	return []refusal{
		transition("creation from a state", "register is no transition from open on register to open by student", both[:1], told("1", "register", "'open'", "open", nil)),
		transition("edge", "close is no transition from closed on close to closed by student", closing, told("2", "close", "'closed'", "closed", nil)),
		transition("transition", "start is no transition from open on close to closed by student", closing, told("2", "close", "'open'", "closed", row{"transition": "'start'"})),
		transition("role", "register is no transition from <NULL> on register to open by root", both[:1], told("1", "register", "NULL", "open", row{"actor_role": "'root'"})),
		transition("role that may not", "register is no transition from <NULL> on register to open by system", both[:1], told("1", "register", "NULL", "open", row{"actor_role": "'system'"})),
		transition("without a role", "register is no transition from <NULL> on register to open by <NULL>", both[:1], told("1", "register", "NULL", "open", row{"actor_role": "NULL"})),
		matches("without record", "open by register at version 1", nil, opened),
		matches("of another version", "closed by close at version 2", both[:1], told("2", "close", "'open'", "closed", nil)),
		matches("of another state", "open by reopen at version 2", closing, told("2", "reopen", "'closed'", "open", nil)),
		matches("of another time", "closed by close at version 2", closing, told("2", "close", "'open'", "closed", row{"created_at": one})),
		matches("of another party", "closed by close at version 2", closing, told("2", "close", "'open'", "closed", row{"actor_id": "8"})),
		trigger("update", "UPDATE", "history is append-only, version {1|OLD.version} stays as it is", both, "UPDATE sample_steps SET payload = NULL"),
		trigger("delete", "DELETE", "history is append-only, version {1|OLD.version} stays as it is", both, "DELETE FROM sample_steps"),
	}
}

func tableRefusals() []refusal {
	verified := result.insert("results")
	return []refusal{
		{name: "table enum", stmt: result.with(row{"grade": "'best'"}).insert("results"), table: "results", check: "results_grade_declared"},
		{name: "table range", stmt: result.with(row{"score": "-1"}).insert("results"), table: "results", check: "results_score_range"},
		{
			name: "where, bool", before: []string{result.with(row{"verified": "false"}).insert("results")}, stmt: diploma.insert("diplomas"),
			table: "diplomas", trigger: "sample_diplomas_insert", state: "FS007", message: "fsmgen: diplomas{ d|}: reference: no row of results has result_id {r|NEW.result_id} and verified true, grade good",
		},
		{
			name: "where, enum", before: []string{result.with(row{"grade": "'no-op'"}).insert("results")}, stmt: diploma.insert("diplomas"),
			table: "diplomas", trigger: "sample_diplomas_insert", state: "FS007", message: "reference: no row of results",
		},
		{
			name: "where, moved", before: []string{verified, row{"result_id": "'bad'"}.insert("results"), diploma.insert("diplomas")},
			stmt:  "UPDATE diplomas SET result_id = 'bad'",
			table: "diplomas", trigger: "sample_diplomas_update", state: "FS007", message: "reference: no row of results",
		},
		{
			name: "table write-once", before: []string{verified, diploma.with(row{"note": "'n'"}).insert("diplomas")},
			stmt:  "UPDATE diplomas SET note = 'm'",
			table: "diplomas", trigger: "sample_diplomas_update", state: "FS003", message: "immutable: note is written once, it stays {n and does not become m|OLD.note and does not become NEW.note}",
		},
	}
}

// TestEachRuleRefuses shows for every rule a statement that the databases
// refuse because of it, and accept once it is lifted.
func TestEachRuleRefuses(t *testing.T) {
	eachDatabase(t, func(t *testing.T, db *database) {
		db.create(t, sample(t))
		for _, r := range sampleRefusals() {
			t.Run(r.name, func(t *testing.T) {
				stmt := db.lists(r.stmt)
				db.judge(t, r, db.try(t, append(slices.Clone(r.before), stmt)...))
				lifted := append(slices.Clone(r.before), db.lift(t, db, r)...)
				if err := db.try(t, append(lifted, stmt)...); err != nil {
					t.Errorf("refused although the rule is lifted: %v\n%s", err, stmt)
				}
				db.must(t, db.unlift...)
			})
		}
	})
}

func (db *database) judge(t *testing.T, r refusal, err error) {
	t.Helper()
	want := db.says(r.message)
	if r.check != "" {
		want, _, _ = strings.Cut(r.check, ",")
		if r.elements != "" && !db.arrays {
			want = r.elements
		}
	}
	switch {
	case err == nil:
		t.Errorf("accepted: %s", r.stmt)
	case !strings.Contains(err.Error(), want):
		t.Errorf("refused by another rule: %v\nwant %q", err, want)
	case db.errorCodes && r.check != "" && !isCheck(err, r.table, want):
		t.Errorf("not the error of a CHECK: %v", err)
	case db.errorCodes && r.check == "" && sqlState(err) != r.state:
		t.Errorf("SQLSTATE %s, want %s: %v", sqlState(err), r.state, err)
	case r.check == "" && !strings.Contains(err.Error(), "fsmgen: "):
		t.Errorf("no prefix: %v", err)
	}
}

// lists writes the one list literal of the tests in the server's own way.
func (db *database) lists(stmt string) string {
	return strings.ReplaceAll(stmt, "$list$good$or$great$list$", db.list("good", "great"))
}

// without is the function that judges a record, less one rule.
func (db *database) without(t *testing.T, rule string) string {
	t.Helper()
	var out strings.Builder
	var block []string
	for line := range strings.Lines(db.text(t, "SELECT pg_get_functiondef('sample_rules'::regproc)")) {
		switch word := strings.TrimSpace(line); {
		case len(block) > 0 || strings.HasPrefix(word, "IF NOT ("):
			if block = append(block, line); word != "END IF;" {
				continue
			}
			if text := strings.Join(block, ""); !strings.Contains(text, "CONSTRAINT = '"+rule+"'") {
				out.WriteString(text)
			}
			block = nil
		default:
			out.WriteString(line)
		}
	}
	return out.String()
}

// isCheck reports whether err is what a CHECK of this name would raise, of the
// table or of a partition of it. That of a record has the prefix and says what
// to do.
func isCheck(err error, table, name string) bool {
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "23514" || !strings.HasPrefix(refused.TableName, table) || refused.ConstraintName != name {
		return false
	}
	return table != "samples" || strings.HasPrefix(refused.Message, "fsmgen: sample "+strings.Trim(sampleID, "'")+": "+name+": ") && refused.Hint != ""
}
