package attacks_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/proptest"
	"github.com/fsmgen/fsmgen/proptest/attacks"
)

// manual is where operators read what is refused.
const manual = "../../docs/operating.md"

// Every attack is refused by a rule of the schema, or is listed as free. The manual
// has the figures of the run: FSMGEN_GOLDEN=1 writes them.
func TestAttacks(t *testing.T) {
	var all []attacks.Verdict
	for _, db := range []attacks.Database{attacks.Postgres(t), attacks.SQLite(t)} {
		verdicts := attacks.Run(t.Context(), db, attacks.All())
		for _, v := range verdicts {
			if v.Wrong != "" {
				t.Errorf("%s: %s, as %s: %s", db.Dialect(), v.Attack.Name, v.Role, v.Wrong)
			}
		}
		all = append(all, verdicts...)
	}
	for _, line := range attacks.Report(all) {
		proptest.Count(t, "%s", line)
	}
	table := attacks.Table(all)
	if n := triedIn(t, table); n != len(all) {
		t.Errorf("the table has %d of %d verdicts: attacks.Dialects lists every dialect, and attacks/report.go every role and target", n, len(all))
	}
	told(t, table)
}

var ofTried = regexp.MustCompile(`(?m) of (\d+) \|$`)

// triedIn sums up the attacks that a table counts.
func triedIn(t *testing.T, table string) (sum int) {
	t.Helper()
	for _, m := range ofTried.FindAllStringSubmatch(table, -1) {
		n, err := strconv.Atoi(m[1])
		if err != nil {
			t.Fatal(err)
		}
		sum += n
	}
	return sum
}

// The program sqlite3, older than the library of the engine, is refused the same.
func TestAttacksByTheProgram(t *testing.T) {
	db := attacks.Program(t)
	for _, v := range attacks.Run(t.Context(), db, attacks.All()) {
		if v.Wrong != "" {
			t.Errorf("%s: %s", v.Attack.Name, v.Wrong)
		}
	}
}

// told compares the table of the manual with that of the run.
func told(t *testing.T, table string) {
	t.Helper()
	text, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- attacks: written by the test of proptest/attacks -->\n", "<!-- end of attacks -->\n"
	before, rest, ok := strings.Cut(string(text), begin)
	was, after, also := strings.Cut(rest, end)
	switch {
	case !ok || !also:
		t.Fatalf("%s has no place for the table", manual)
	case was == table:
	case os.Getenv("FSMGEN_GOLDEN") != "":
		if err := os.WriteFile(manual, []byte(before+begin+table+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s says otherwise than the run (FSMGEN_GOLDEN=1 writes it):\n%s", manual, table)
	}
}

// At least 97 of 100 attacks of an ordinary role are refused.
func TestFewAttacksAreFree(t *testing.T) {
	free, all := 0, 0
	for _, a := range attacks.All() {
		all++
		if a.Free != "" {
			free++
		}
	}
	if free*100 > all*3 {
		t.Errorf("%d of %d attacks are free", free, all)
	}
}

// Names tell attacks apart, and each is for a database.
func TestAttacksAreDistinct(t *testing.T) {
	seen := map[string]bool{}
	for _, a := range attacks.All() {
		if seen[a.Name] {
			t.Errorf("two attacks are called %q", a.Name)
		}
		seen[a.Name] = true
		if a.SQL == nil && a.Postgres == nil && a.SQLite == nil {
			t.Errorf("%q has no statements", a.Name)
		}
	}
}

// What fails for another reason than a rule, changes nothing, or is not as the attack
// has it, is wrong.
func TestRunBites(t *testing.T) {
	const edge = `UPDATE deals SET version = version + 1, last_event = 'APPROVE', status = 'REFUNDED' WHERE deal_id = {funded}`
	const step = `UPDATE deals SET version = version + 1, last_event = 'SUBMIT_OFFER', status = 'OFFER_PENDING' WHERE deal_id = {draft}`
	const told = `INSERT INTO deal_events (event_id, deal_id, version, event_type, from_status, to_status, transition, actor_role, actor_id, created_at)
		SELECT deal_id, deal_id, 2, 'SUBMIT_OFFER', 'DRAFT', 'OFFER_PENDING', 'submit_offer', 'advertiser', 7, updated_at FROM deals WHERE deal_id = {draft}`
	list := []attacks.Attack{
		{Name: "no SQL", SQL: []string{"no SQL"}},
		{Name: "nothing", SQL: []string{"UPDATE deals SET status = 'DRAFT' WHERE version < 0"}},
		{Name: "not refused", SQL: []string{step, told}},
		{Name: "refused by another rule", SQL: []string{edge}, Refused: "never"},
		{Name: "not free", SQL: []string{edge}, Free: "it is not"},
	}
	for _, db := range []attacks.Database{attacks.SQLite(t), attacks.Postgres(t)} {
		for _, v := range attacks.Run(t.Context(), db, list) {
			if v.Wrong == "" {
				t.Errorf("%s: %s passes", db.Dialect(), v.Attack.Name)
			}
		}
	}
}
