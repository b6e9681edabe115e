package docs

import (
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

func TestCode(t *testing.T) {
	for in, want := range map[string]string{
		"":                   "",
		"a_b":                "`a_b`",
		"x matches ^(a|b)$":  "`x matches ^(a\\|b)$`",
		"a `b` c":            "`` a `b` c ``",
		"two\n   lines here": "`two lines here`",
	} {
		if got := code(in); got != want {
			t.Errorf("code(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestProse(t *testing.T) {
	if got, want := prose("a | b < c\n*d* [e]"), `a \| b &lt; c \*d\* \[e\]`; got != want {
		t.Errorf("prose = %q, want %q", got, want)
	}
}

func TestTableLeavesOutEmptyColumns(t *testing.T) {
	table := newTable("A", "B", "C")
	table.add("1", "", "")
	table.add("2", "", "3")
	if got, want := table.String(), "| A | C |\n|---|---|\n| 1 |  |\n| 2 | 3 |"; got != want {
		t.Errorf("table =\n%s\nwant\n%s", got, want)
	}
}

func TestValueText(t *testing.T) {
	for want, in := range map[string]ir.Value{
		"48h": 48 * time.Hour, "1h30m": 90 * time.Minute, "500ms": 500 * time.Millisecond, "3": int64(3), "false": false,
		"[a, 1h]": []any{"a", time.Hour}, `""`: "", "2026-01-02T03:04:05Z": time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	} {
		if got := valueText(in); got != want {
			t.Errorf("valueText(%v) = %q, want %q", in, got, want)
		}
	}
}

func TestRecoveryVocabulary(t *testing.T) {
	cleanup := &ir.Effect{Name: ir.Name{Text: "wipe"}}
	lost := &ir.Fire{Event: &ir.Event{Name: ir.Name{Text: "LOST"}}}
	for _, c := range []struct {
		effect ir.Effect
		want   string
	}{
		{ir.Effect{Kind: ir.Call, Delivery: ir.Idempotent}, "**Retry**"},
		{ir.Effect{Kind: ir.Call, Delivery: ir.Idempotent, Cleanup: cleanup}, "**Cleanup** (`wipe`), **Retry**"},
		{ir.Effect{Kind: ir.Call, Delivery: ir.Keyed}, "**Retry** with the same key"},
		{ir.Effect{Kind: ir.Call, Delivery: ir.Queryable, Cleanup: cleanup}, "Ask first: done is **Skip**, else **Cleanup** (`wipe`), **Retry**"},
		{ir.Effect{Kind: ir.Call, Delivery: ir.AtMostOnce, Lost: lost}, "Never repeated: fires `LOST`"},
		{ir.Effect{Kind: ir.Upsert, Delivery: ir.InTransaction}, "None: part of the step or not there"},
		{ir.Effect{Kind: ir.Log, Delivery: ir.AtMostOnce}, "None: the line may be lost"},
	} {
		if got := recovery(&c.effect); got != c.want {
			t.Errorf("recovery(%s) = %q, want %q", c.effect.Delivery, got, c.want)
		}
	}
}

func TestNeverIsCheckedOnlyWhereNoRowIsSuchAnEdge(t *testing.T) {
	done, open := &ir.State{Name: ir.Name{Text: "done"}}, &ir.State{Name: ir.Name{Text: "open"}}
	m := &ir.Machine{}
	inv := &ir.Invariant{Never: &ir.Never{From: done, To: []*ir.State{open}}}
	if got := InvariantEnforcers(m, inv); got[0] != "check: no row from done to open" {
		t.Errorf("enforcers %q", got)
	}
	m.Rows = []*ir.Row{{From: done, To: open}}
	if got := strings.Join(InvariantEnforcers(m, inv), "; "); strings.Contains(got, "check:") {
		t.Errorf("enforcers %q name the checker, but the table has such a row", got)
	}
}
