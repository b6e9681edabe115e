package domain_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

func field(text string, base ir.Base, optional bool) *ir.Field {
	return &ir.Field{Name: ir.Name{Text: text}, Type: ir.Type{Base: base, Optional: optional}}
}

func read(f *ir.Field) ir.Operand { return ir.Operand{Field: f, Text: f.Text, Type: f.Type} }

func classesOf(t *testing.T, s *domain.Space, v domain.Var) []ir.Value {
	t.Helper()
	i := slices.Index(s.Vars, v)
	if i < 0 {
		t.Fatalf("%v is not part of the space %v", v, s.Vars)
	}
	return s.Classes[i]
}

func TestIntsSurroundTheirConstantsWithinBounds(t *testing.T) {
	zero, three := int64(0), int64(3)
	count := field("count", ir.Int, true)
	count.Min, count.Max = &zero, &three
	s := domain.NewSpace(&ir.Machine{}, []*ir.Clause{{Left: read(count), Op: ir.Lt, Right: literal(int64(3))}}, nil, nil, noon)
	got := fmt.Sprint(classesOf(t, s, domain.Var{Field: count}))
	if want := "[0 1 2 3 <nil>]"; got != want {
		t.Errorf("classes = %s, want %s", got, want)
	}
}

func TestIncomingValueShadowsTheStoredOne(t *testing.T) {
	f := field("digest", ir.String, true)
	ev := &ir.Event{Writes: []ir.Write{{Field: f}}}
	c := []*ir.Clause{{Left: read(f), Op: ir.Eq, Right: literal("x")}}
	s := domain.Join(&ir.Machine{}, noon, domain.View{Event: ev, Clauses: c}, domain.View{Clauses: c})
	if slices.Contains(classesOf(t, s, domain.Var{Field: f, Event: ev}), nil) {
		t.Error("a required write may not be absent")
	}
	if !slices.Contains(classesOf(t, s, domain.Var{Field: f}), nil) {
		t.Error("the stored optional value may be absent")
	}
	for a := range s.All(1000, 1) {
		incoming, _ := a.Lookup(domain.Var{Field: f, Event: ev})
		stored, _ := a.Lookup(domain.Var{Field: f})
		o := read(f)
		if !domain.Equal(a.Reader(ev)(&o), incoming) || !domain.Equal(a.Reader(nil)(&o), stored) {
			t.Fatal("the reader ignores its context")
		}
	}
}

func TestComparedVariablesMeetEveryOrder(t *testing.T) {
	for _, base := range []ir.Base{ir.Int, ir.Time, ir.Duration} {
		a, b := field("a", base, false), field("b", base, false)
		s := domain.NewSpace(&ir.Machine{}, []*ir.Clause{{Left: read(a), Op: ir.Lt, Right: read(b)}}, nil, nil, noon)
		seen := map[int]bool{}
		for as := range s.All(1000, 1) {
			seen[domain.Compare(as.Values[0], as.Values[1])] = true
		}
		if len(seen) != 3 {
			t.Errorf("%s: orders met: %v", base, seen)
		}
	}
}

func TestAssignmentLinksItsOperandWithLaterClauses(t *testing.T) {
	length, blob := field("length", ir.Int, false), field("blob", ir.Int, true)
	ev := &ir.Event{Fields: []*ir.Field{length}}
	from := ir.Operand{Field: length, Event: ev, Type: length.Type}
	s := domain.NewSpace(&ir.Machine{},
		[]*ir.Clause{{Left: read(blob), Op: ir.Gt, Right: literal(int64(100))}},
		[]ir.Assign{{Target: blob, Value: ir.Expr{Kind: ir.Add, A: from, B: literal(int64(10))}}}, ev, noon)
	got := classesOf(t, s, domain.Var{Field: length, Event: ev})
	for _, edge := range []int64{90, 91} { // 90 + 10 is not above 100, 91 + 10 is
		if !slices.Contains(got, ir.Value(edge)) {
			t.Errorf("classes %v lack %d", got, edge)
		}
	}
}

func TestStringsSatisfyAndBreakPatterns(t *testing.T) {
	f := field("digest", ir.String, false)
	patterns := []string{`^sha256:[a-f0-9]{64}$`, `(?i)^dep-\d+(-[a-z]{2})?$`, `^[^/]+$`}
	for _, p := range patterns {
		s := domain.NewSpace(&ir.Machine{}, []*ir.Clause{{Left: read(f), Op: ir.Matches, Right: literal(p)}}, nil, nil, noon)
		hit, miss := false, false
		for _, v := range classesOf(t, s, domain.Var{Field: f}) {
			if regexp.MustCompile(p).MatchString(v.(string)) {
				hit = true
			} else {
				miss = true
			}
		}
		if !hit || !miss {
			t.Errorf("%s: satisfied %v, broken %v", p, hit, miss)
		}
	}
}

func TestListsHoldAndLackTheElement(t *testing.T) {
	tags := field("tags", ir.ListOf, false)
	tags.Type.Elem = &ir.Type{Base: ir.String}
	c := &ir.Clause{Left: read(tags), Op: ir.Contains, Right: literal("prod")}
	s := domain.NewSpace(&ir.Machine{}, []*ir.Clause{c}, nil, nil, noon)
	seen := map[bool]int{}
	for a := range s.All(100, 1) {
		seen[domain.Eval(c, a.Reader(nil))]++
	}
	if seen[true] != 1 || seen[false] < 2 {
		t.Errorf("contains was true %d times, false %d times", seen[true], seen[false])
	}
}

func TestParamsAndActorsAreVariables(t *testing.T) {
	param := &ir.Param{Name: ir.Name{Text: "limit"}, Type: ir.Type{Base: ir.Int}, Default: int64(5)}
	f := field("count", ir.Int, false)
	s := domain.NewSpace(&ir.Machine{}, []*ir.Clause{
		{Left: read(f), Op: ir.Ge, Right: ir.Operand{Param: param}},
		{Left: ir.Operand{Special: ir.ActorID, Type: ir.Type{Base: ir.Int}}, Op: ir.Eq, Right: literal(int64(1))},
	}, nil, nil, noon)
	s.Fix(domain.Var{Param: param}, int64(5))
	if got := fmt.Sprint(classesOf(t, s, domain.Var{Field: f})); got != "[3 4 5 6 7]" {
		t.Errorf("classes around the default: %s", got)
	}
	if !slices.Contains(classesOf(t, s, domain.Var{Special: ir.ActorID}), nil) {
		t.Error("the actor's id can be absent")
	}
	if s.Size() != 5*4 {
		t.Errorf("size %d: %v", s.Size(), s.Classes)
	}
}

func TestAllIsExhaustiveOrCoversPairs(t *testing.T) {
	var clauses []*ir.Clause
	for range 30 {
		clauses = append(clauses, &ir.Clause{Left: read(field("b", ir.Bool, true)), Op: ir.Eq, Right: literal(true)})
	}
	small := domain.NewSpace(&ir.Machine{}, clauses[:4], nil, nil, noon)
	seen := map[string]bool{}
	for a := range small.All(81, 1) {
		seen[fmt.Sprint(a.Values)] = true
	}
	if !small.Exhaustive(81) || small.Exhaustive(80) || len(seen) != 81 {
		t.Errorf("%d of %d assignments", len(seen), small.Size())
	}

	large := domain.NewSpace(&ir.Machine{}, clauses, nil, nil, noon)
	pairs, count := map[string]bool{}, 0
	for a := range large.All(3000, 7) {
		count++
		for i := range a.Values {
			for j := range i {
				pairs[fmt.Sprint(i, j, a.Values[i], a.Values[j])] = true
			}
		}
	}
	if count != 3000 || len(pairs) != 30*29/2*9 {
		t.Errorf("%d assignments cover %d pairs", count, len(pairs))
	}
	large.Extend(domain.Var{Special: ir.ErrorText}, "x")
	for range 20 {
		more := domain.Var{Field: field("n", ir.Int, false)}
		large.Extend(more, int64(1), int64(2), int64(3), int64(4), int64(5), int64(6), int64(7), int64(8))
	}
	if large.Size() != math.MaxUint64 {
		t.Errorf("size %d does not saturate", large.Size())
	}
}

func TestSamplesRepeatWithTheirSeed(t *testing.T) {
	var clauses []*ir.Clause
	for range 12 {
		clauses = append(clauses, &ir.Clause{Left: read(field("t", ir.Time, false)), Op: ir.Le, Right: ir.Operand{Special: ir.Now}})
	}
	s := domain.NewSpace(&ir.Machine{}, clauses, nil, nil, noon.Add(time.Nanosecond))
	draw := func(seed uint64) string {
		var all []string
		for a := range s.All(50, seed) {
			all = append(all, fmt.Sprint(a.Values))
		}
		return fmt.Sprint(all)
	}
	first, again := draw(1), draw(1)
	if first != again || first == draw(2) {
		t.Error("samples do not follow their seed")
	}
}

// A string compared with one constant can also be another one: else `!=`
// would never hold.
func TestStringsDifferFromTheirConstants(t *testing.T) {
	env := field("env", ir.String, false)
	s := domain.NewSpace(&ir.Machine{}, []*ir.Clause{{Left: read(env), Op: ir.Ne, Right: literal("production")}}, nil, nil, noon)
	got := classesOf(t, s, domain.Var{Field: env})
	if !slices.ContainsFunc(got, func(v ir.Value) bool { return v != "production" }) || !slices.Contains(got, ir.Value("production")) {
		t.Errorf("classes = %v", got)
	}
}

// Two elements that two clauses ask for can be in one list.
func TestListsHoldSeveralElements(t *testing.T) {
	tags := &ir.Field{Name: ir.Name{Text: "tags"}, Type: ir.Type{Base: ir.ListOf, Elem: &ir.Type{Base: ir.String}}}
	var clauses []*ir.Clause
	for _, tag := range []string{"a", "b"} {
		clauses = append(clauses, &ir.Clause{Left: read(tags), Op: ir.Contains, Right: literal(tag)})
	}
	s := domain.NewSpace(&ir.Machine{}, clauses, nil, nil, noon)
	both := func(v ir.Value) bool {
		list, _ := v.([]any)
		return slices.Contains(list, any("a")) && slices.Contains(list, any("b"))
	}
	if got := classesOf(t, s, domain.Var{Field: tags}); !slices.ContainsFunc(got, both) {
		t.Errorf("classes = %v", got)
	}
}
