package check

import (
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestSoundness compiles random tables and compares what the checker says of
// their guards with the truth, which a brute force over more values finds: two
// rows overlap or not, a row is chosen or never, an outcome is covered, a
// raise is refused, a promise is broken. The brute force (soundness_truth_test.go)
// shares nothing with package domain.
//
// FSMGEN_TABLES is the number of tables, FSMGEN_SEED the first seed: a table
// that fails is repeated with FSMGEN_TABLES=1 and its seed.
func TestSoundness(t *testing.T) {
	tables, first := number(t, "FSMGEN_TABLES", 400), number(t, "FSMGEN_SEED", int(time.Now().UnixNano()%1_000_000_000))
	t.Logf("FSMGEN_SEED=%d FSMGEN_TABLES=%d", first, tables)
	var count tally
	for seed, bad := first, 0; seed < first+tables && bad < maxDisagreeing; seed++ {
		if !agrees(t, seed, &count) {
			bad++
		}
	}
	t.Logf("%d tables; agreed, with a fault and without: %d and %d overlaps, %d and %d rows never chosen, %d and %d uncovered, %d and %d clauses that never hold, %d and %d raises refused, %d and %d promises broken; %d questions of %d left undecided",
		tables, count.yes["overlap"], count.no["overlap"], count.yes["never"], count.no["never"], count.yes["uncovered"], count.no["uncovered"],
		count.yes["dead"], count.no["dead"], count.yes["raise"], count.no["raise"], count.yes["holds"], count.no["holds"], count.undecided, count.all)
	if tables < 300 || t.Failed() {
		return
	}
	for _, op := range ir.Ops() {
		if !count.ops[string(op)] {
			t.Errorf("no table has a guard with %s: clauseOf writes none, or decide does not know it", op)
		}
	}
	for _, kind := range []string{"overlap", "never", "uncovered", "dead", "raise", "holds"} {
		if count.yes[kind] == 0 || count.no[kind] == 0 {
			t.Errorf("%s: no table asks for one of the two answers", kind)
		}
	}
}

// TestTablesThatDisagreedOnce repeats tables that disagreed once: lists that are asked for
// two fields, and rows that a sample of patterns never saw chosen.
func TestTablesThatDisagreedOnce(t *testing.T) {
	for _, seed := range []int{1002348, 1002850, 1009312, 1011404} {
		agrees(t, seed, &tally{})
	}
}

// agrees compares what the checker says of one table with the truth.
func agrees(t *testing.T, seed int, count *tally) bool {
	t.Helper()
	tb := newTable(rand.New(rand.NewPCG(uint64(seed), 0)))
	source := tb.yaml()
	list, sources := one(t, source)
	count.notice(tb)
	wrong := tb.compare(hear(t, list, source), count)
	if len(wrong) > 0 {
		t.Errorf("FSMGEN_SEED=%d FSMGEN_TABLES=1 disagrees:\n%s\n%s\n%s", seed, strings.Join(wrong, "\n"), source, diag.Text(list, sources, false))
	}
	return len(wrong) == 0
}

// maxDisagreeing is how many tables are shown.
const maxDisagreeing = 5

func number(t *testing.T, name string, def int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return def
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}

// tally counts the questions by their answer.
type tally struct {
	yes, no        map[string]int
	ops            map[string]bool
	undecided, all int
}

// notice notes the operators of the guards of a table.
func (c *tally) notice(tb *table) {
	if c.ops == nil {
		c.ops = map[string]bool{}
	}
	for _, r := range tb.rows {
		for _, k := range r.when {
			c.ops[k.op] = true
		}
	}
}

func (c *tally) note(kind string, yes, undecided bool) {
	if c.yes == nil {
		c.yes, c.no = map[string]int{}, map[string]int{}
	}
	c.all++
	switch {
	case undecided:
		c.undecided++
	case yes:
		c.yes[kind]++
	default:
		c.no[kind]++
	}
}

// statements are the findings of the checker, as keys: "overlap r0 r1".
type statements struct {
	found, undecided map[string]bool
	sampled          bool // the checker says of a finding that it comes from a sample
}

var sayings = []struct {
	code, kind string
	re         *regexp.Regexp
}{
	{"FSM030", "overlap", regexp.MustCompile(`^rows "(\w+)" and "(\w+)" of go in state "open" can both`)},
	{"FSM031", "never", regexp.MustCompile(`^row "(\w+)" can never be chosen on go in state "open"`)},
	{"FSM032", "uncovered", regexp.MustCompile(`^no row takes (go) in state "open"`)},
	{"FSM033", "dead", regexp.MustCompile(`^"(.*)" never holds$`)},
	{"FSM048", "raise", regexp.MustCompile(`^row "(\w+)" raises ADVANCE, which state "mid" refuses`)},
	{"FSM062", "holds", regexp.MustCompile(`^row "(\w+)" on go can break "(.*)", which state "mid" holds`)},
	{"FSM035", "overlap", regexp.MustCompile(`whether rows "(\w+)" and "(\w+)" of go in state "open" can both`)},
	{"FSM035", "uncovered", regexp.MustCompile(`whether some row takes every (go) in state "open"`)},
	{"FSM035", "raise", regexp.MustCompile(`whether state "mid" takes ADVANCE, which row "(\w+)" raises`)},
	{"FSM035", "holds", regexp.MustCompile(`whether row "(\w+)" on go keeps "(.*)", which state "mid" holds`)},
}

func hear(t *testing.T, list *diag.List, source string) statements {
	t.Helper()
	out := statements{found: map[string]bool{}, undecided: map[string]bool{}}
	for _, d := range list.Sorted() {
		if strings.HasPrefix(string(d.Code), "FSM00") || strings.HasPrefix(string(d.Code), "GUARD") {
			t.Fatalf("the table does not lower: %s\n%s", d.Message, source)
		}
		out.sampled = out.sampled || strings.Contains(d.Message, "(sampled)")
		for _, s := range sayings {
			m := s.re.FindStringSubmatch(d.Message)
			if m == nil || s.code != string(d.Code) {
				continue
			}
			into := out.found
			if d.Code == codeUndecided {
				into = out.undecided
			}
			into[strings.Join(append([]string{s.kind}, m[1:]...), " ")] = true
		}
	}
	return out
}

// sampled reports whether the checker may meet this table with a sample, from
// which it does not conclude that a row is never chosen, and says nothing: a
// pattern, a sum of two fields, or a list that is asked for many elements.
func (tb *table) sampled() bool { return tb.patterns || tb.sums || tb.theme == "lists" }

// compare lists the disagreements.
func (tb *table) compare(said statements, count *tally) []string {
	truth := tb.truth()
	if !truth.records {
		return nil // no record satisfies the holds: what is said of its rows says nothing
	}
	var wrong []string
	judge := func(kind, key string, strict, loose bool) {
		found, undecided := said.found[key], said.undecided[key]
		count.note(kind, found, undecided)
		switch {
		case found && !loose:
			wrong = append(wrong, key+": the checker finds what is not there")
		case strict && !found && !undecided:
			wrong = append(wrong, key+": the checker overlooks it")
		}
	}
	deadRow := map[string]bool{}
	for _, r := range tb.rows {
		for _, c := range r.when {
			key := "dead " + c.text(tb)
			judge("dead", key, truth.dead[key] && !tb.patterns, truth.dead[key])
			deadRow[r.name] = deadRow[r.name] || said.found[key]
		}
	}
	for i, a := range tb.rows {
		for _, b := range tb.rows[i+1:] {
			if key := "overlap " + a.name + " " + b.name; a.priority == b.priority && !a.otherwise && !b.otherwise {
				judge("overlap", key, truth.overlap[key], truth.overlap[key])
			}
		}
		never := !truth.chosen[a.name]
		judge("never", "never "+a.name, never && !deadRow[a.name] && len(said.undecided) == 0 && !said.sampled && !tb.sampled(), never)
		if a.raise {
			judge("raise", "raise "+a.name, truth.refused[a.name], truth.refused[a.name])
		}
		if a.to == "mid" && !deadRow[a.name] {
			for _, c := range tb.mid {
				if said.found["dead "+c.text(tb)] {
					continue // no row keeps it, nor does one that is never chosen
				}
				key := "holds " + a.name + " " + c.text(tb)
				judge("holds", key, truth.broken[key] && !never, truth.brokenLoose[key])
			}
		}
	}
	judge("uncovered", "uncovered go", truth.uncovered, truth.uncovered)
	return wrong
}
