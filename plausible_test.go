package fsmgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestNoPlausibleDefaults: where the compiler, the runtime or a proof looks at a word of a closed
// vocabulary, a new word gets no meaning by itself. A switch over one names every value
// (the linter exhaustive), and its default, if it has one, ends in an error. A chain of
// comparisons with several words has no default either, and no condition joins them: both are a
// switch in disguise. What differs between the databases, or between the delivery classes, is a switch, a trait or a property.
func TestNoPlausibleDefaults(t *testing.T) {
	t.Parallel()
	words := vocabularies(t)
	checked := 0
	for _, root := range []string{"gen", "cmd", "proptest", "runtime", "services", "adapters"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			seen, faults := words.plausible(fset, file)
			checked += seen
			for _, fault := range faults {
				t.Error(fault)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 60 {
		t.Errorf("%d places were checked: the test looks in the wrong place", checked)
	}
}

// TestTestsAskTheServer: a test that runs on several databases asks what its server can do. A
// comparison with the name of one would do for a third what it does for the other.
func TestTestsAskTheServer(t *testing.T) {
	t.Parallel()
	words := vocabularies(t)
	checked := 0
	for _, root := range []string{"gen", "proptest"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			checked++
			fset := token.NewFileSet()
			file, err := parser.ParseFile(fset, path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if e, ok := n.(*ast.BinaryExpr); ok && words.in(file.Name.Name).comparesDatabase(e) {
					t.Errorf("%s: a comparison with one database decides for every other: let the server say what it can do, as in gen/ddl/server_test.go", fset.Position(e.Pos()))
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if checked < 60 {
		t.Errorf("%d files were checked: the test looks in the wrong place", checked)
	}
}

// TestPlausibleDefaultsBite: the rule finds what it is about, and nothing else.
func TestPlausibleDefaultsBite(t *testing.T) {
	t.Parallel()
	words := vocabularies(t)
	var each []string
	for word, of := range words {
		if of == compiledClass {
			each = append(each, word)
		}
	}
	for body, want := range map[string]string{
		`switch d { case EACH: return 1; default: return 2 }`:                                  "the default",
		`switch d { case EACH: return 1; default: panic(ir.NoForm("f", d)) }`:                  "",
		`switch d { case EACH: return 1; default: return fmt.Errorf("no %s", d) }`:             "",
		`switch d { case ir.Keyed: return 1 }`:                                                 "does not name AtMostOnce",
		`switch d { case EACH: return 1 }; return 2`:                                           "follows",
		`switch d { case EACH: return 1 }; panic(ir.NoForm("f", d))`:                           "",
		`switch { case op == ir.Eq: return 1; case op == ir.Ne: return 2; default: return 3 }`: "chain",
		`switch { case op == ir.Eq: return 1; case found: return 2; default: return 3 }`:       "",
		`if op == ir.Eq { return 1 } else if op == ir.Ne { return 2 } else { return 3 }`:       "chain",
		`if op == ir.Eq || op == ir.Ne { return 1 }`:                                           "a condition joins",
		`return op != ir.Eq && (found || op != ir.Ne)`:                                         "a condition joins",
		`return op == ir.Eq || other == ir.Ne`:                                                 "",
		`return op == ir.Eq && found`:                                                          "",
		`if op == ir.Eq { return 1 } else { return 3 }`:                                        "",
		`if d == ir.Keyed { return 1 }`:                                                        "delivery class",
		`if d == attacks.InSQLite { return 1 }`:                                                "database",
		`switch k { case crash.Keyed: return 1; default: return 2 }`:                           "does not name Answer, AtMostOnce",
		`return d != fsm.AtMostOnce`:                                                           "delivery class",
		`switch d { case fsm.Keyed: return 1 }`:                                                "does not name AtMostOnce",
		`switch k { case store.ReadRecord: return 1; default: return 2 }`:                      "the default",
		`if d == postgres { return 1 }`:                                                        "database",
		`if d.name == "sqlite" { return 1 }`:                                                   "database",
		`return d != sqlite`:                                                                   "database",
		`switch n { case 1: return 1; default: return 2 }`:                                     "",
	} {
		body = strings.ReplaceAll(body, "EACH", strings.Join(each, ", "))
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package ddl\nfunc f() any {\n"+body+"\n}", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, faults := words.plausible(fset, file)
		if got := strings.Join(faults, "; "); want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: found %q, want %q", body, got, want)
		}
	}
}

// plausible returns how many places of a file look at a word, and those that give a
// word that they do not name a meaning.
func (v vocabulary) plausible(fset *token.FileSet, file *ast.File) (seen int, faults []string) {
	v = v.in(file.Name.Name)
	fault := func(n ast.Node, text string) { faults = append(faults, fset.Position(n.Pos()).String()+": "+text) }
	chained := map[*ast.IfStmt]bool{}
	joined := map[ast.Expr]bool{} // parts of a condition that was looked at
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SwitchStmt:
			of := v.switched(n)
			if of == "" {
				return true
			}
			seen++
			if missing := v.unnamed(n, of); n.Tag != nil && len(missing) > 0 {
				fault(n, "a switch over "+of+" does not name "+strings.Join(missing, ", "))
			}
			if last := defaultOf(n); last != nil && !refuses(last.Body) {
				if n.Tag == nil {
					fault(last, "a chain of comparisons with words of "+of+" has a default: write a switch that names every value")
				} else {
					fault(last, "the default of a switch over "+of+" gives new words a meaning: name every value, and end in ir.NoForm")
				}
			}
		case *ast.IfStmt:
			if chained[n] {
				return true
			}
			if of := v.chain(n, chained); of != "" {
				seen++
				fault(n, "a chain of comparisons with words of "+of+" ends in else: write a switch that names every value")
			}
		case *ast.FuncDecl:
			if of := v.fallsOut(n); of != "" {
				fault(n, "what follows a switch over "+of+" gives new words a meaning: end in ir.NoForm")
			}
		case *ast.BinaryExpr:
			if of := v.joins(n); of != "" && !joined[n] {
				seen++
				fault(n, "a condition joins comparisons with words of "+of+", and has an answer for every other: write a switch that names every value")
			}
			for _, part := range []ast.Expr{n.X, n.Y} {
				joined[part], joined[ast.Unparen(part)] = true, true
			}
			of, _ := v.compared(n)
			switch {
			case v.comparesDatabase(n):
				fault(n, "a comparison with one database decides for every other: write a switch over both, or a trait")
			case of == compiledClass, of == deliveredClass:
				fault(n, "a comparison with one delivery class decides for every other: ask a property of the class")
			}
		}
		return true
	})
	return seen, faults
}

// switched returns the vocabulary whose words the cases of s name: of one switch with a
// tag any, of one without a tag at least two.
func (v vocabulary) switched(s *ast.SwitchStmt) string {
	named := map[string][]string{}
	for _, clause := range s.Body.List {
		for _, expr := range clause.(*ast.CaseClause).List {
			if s.Tag != nil {
				if of := v[nameOf(expr)]; of != "" {
					return of
				}
				continue
			}
			v.collect(expr, named)
		}
	}
	return several(named)
}

// unnamed lists the words of a vocabulary that no case of s names.
func (v vocabulary) unnamed(s *ast.SwitchStmt, of string) (missing []string) {
	named := map[string]bool{}
	for _, clause := range s.Body.List {
		for _, expr := range clause.(*ast.CaseClause).List {
			named[bare(nameOf(expr))] = true
		}
	}
	for name, own := range v {
		if own == of && !named[bare(name)] {
			missing = append(missing, bare(name))
		}
	}
	slices.Sort(missing)
	return slices.Compact(missing)
}

// fallsOut returns the vocabulary of a switch in which every case returns, if the
// function returns something else for what no case names. The methods String and Error may.
func (v vocabulary) fallsOut(f *ast.FuncDecl) string {
	if f.Body == nil || len(f.Body.List) < 2 || f.Name.Name == "String" || f.Name.Name == "Error" {
		return ""
	}
	last := len(f.Body.List) - 1
	s, isSwitch := f.Body.List[last-1].(*ast.SwitchStmt)
	if !isSwitch || s.Tag == nil || refuses(f.Body.List[last:]) {
		return ""
	}
	for _, clause := range s.Body.List {
		body := clause.(*ast.CaseClause).Body
		if len(body) == 0 {
			return ""
		}
		if _, returns := body[len(body)-1].(*ast.ReturnStmt); !returns {
			return ""
		}
	}
	return v.switched(s)
}

// chain returns the vocabulary of which an if with its else-ifs names several words
// before it ends in an else that does not refuse.
func (v vocabulary) chain(n *ast.IfStmt, chained map[*ast.IfStmt]bool) string {
	named := map[string][]string{}
	for {
		v.collect(n.Cond, named)
		switch next := n.Else.(type) {
		case *ast.IfStmt:
			chained[next] = true
			n = next
		case *ast.BlockStmt:
			if refuses(next.List) {
				return ""
			}
			return several(named)
		default:
			return ""
		}
	}
}

// collect notes the words that a condition is about: comparisons for equality, joined by
// or. What is joined by and asks for something else, too.
func (v vocabulary) collect(expr ast.Expr, named map[string][]string) {
	switch e := expr.(type) {
	case *ast.ParenExpr:
		v.collect(e.X, named)
	case *ast.BinaryExpr:
		if e.Op == token.LOR {
			v.collect(e.X, named)
			v.collect(e.Y, named)
		} else if of, ok := v.compared(e); ok && e.Op == token.EQL {
			named[of] = append(named[of], nameOf(e.Y))
		}
	}
}

// joins returns the vocabulary of which a condition compares one operand with several words,
// joined by && or ||.
func (v vocabulary) joins(e *ast.BinaryExpr) string {
	if e.Op != token.LOR && e.Op != token.LAND {
		return ""
	}
	named := map[string]map[string][]string{} // by operand and vocabulary
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.BinaryExpr:
			if of, ok := v.compared(n); ok {
				operand := types.ExprString(n.X)
				if named[operand] == nil {
					named[operand] = map[string][]string{}
				}
				named[operand][of] = append(named[operand][of], nameOf(n.Y))
			}
		}
		return true
	})
	for _, words := range named {
		if of := several(words); of != "" {
			return of
		}
	}
	return ""
}

// comparesDatabase reports whether e compares with a database: a constant, or its name as a
// text.
func (v vocabulary) comparesDatabase(e *ast.BinaryExpr) bool {
	if of, _ := v.compared(e); of == dialectType || of == attackedType {
		return true
	}
	text, ok := e.Y.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING || e.Op != token.EQL && e.Op != token.NEQ {
		return false
	}
	return v["ddl."+strings.Trim(text.Value, "\"`")] == dialectType
}

func (v vocabulary) compared(e *ast.BinaryExpr) (of string, ok bool) {
	if e.Op != token.EQL && e.Op != token.NEQ {
		return "", false
	}
	of, ok = v[nameOf(e.Y)]
	return of, ok
}

func several(named map[string][]string) string {
	for of, words := range named {
		slices.Sort(words)
		if len(slices.Compact(words)) > 1 {
			return of
		}
	}
	return ""
}

func nameOf(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return x.Name + "." + e.Sel.Name
		}
	}
	return ""
}

func defaultOf(s *ast.SwitchStmt) *ast.CaseClause {
	for _, clause := range s.Body.List {
		if c := clause.(*ast.CaseClause); c.List == nil {
			return c
		}
	}
	return nil
}

// refuses reports whether statements end in an error: of [ir.NoForm], of fmt or errors,
// of a test, or of a server that says that it is at fault.
func refuses(body []ast.Stmt) bool {
	found := false
	for _, stmt := range body {
		ast.Inspect(stmt, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				answer, _ := n.(*ast.SelectorExpr)
				found = found || answer != nil && nameOf(answer) == "http.StatusInternalServerError"
				return true
			}
			switch name := nameOf(call.Fun); {
			case bare(name) == "NoForm", name == "noForm", name == "fmt.Errorf", name == "errors.New", strings.HasSuffix(name, ".Fatalf"):
				found = true
			}
			return true
		})
	}
	return found
}
