package fsmgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// vocabulary maps the constants of the closed vocabularies, as a package names them
// ("ir.Keyed", or "Keyed" in gen/ir itself), to their types.
type vocabulary map[string]string

// TestNoPlausibleDefaults: where the compiler or a proof looks at a word of a closed
// vocabulary, a new word gets no meaning by itself. A switch over one names every value
// (the linter exhaustive), and its default, if it has one, ends in an error. A chain of
// comparisons with several words has no default either: it is a switch in disguise. What differs between the databases is a switch or one of their traits.
func TestNoPlausibleDefaults(t *testing.T) {
	t.Parallel()
	words := vocabularies(t)
	checked := 0
	for _, root := range []string{"gen", "cmd", "proptest"} {
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

// TestPlausibleDefaultsBite: the rule finds what it is about, and nothing else.
func TestPlausibleDefaultsBite(t *testing.T) {
	t.Parallel()
	words := vocabularies(t)
	var each []string
	for word, of := range words {
		if of == "Delivery" && strings.HasPrefix(word, "ir.") {
			each = append(each, word)
		}
	}
	for body, want := range map[string]string{
		`switch d { case EACH: return 1; default: return 2 }`:                                          "the default",
		`switch d { case EACH: return 1; default: panic(ir.NoForm("f", d)) }`:                          "",
		`switch d { case EACH: return 1; default: return fmt.Errorf("no %s", d) }`:                     "",
		`switch d { case ir.Keyed: return 1 }`:                                                         "does not name AtMostOnce",
		`switch d { case EACH: return 1 }; return 2`:                                                   "follows",
		`switch d { case EACH: return 1 }; panic(ir.NoForm("f", d))`:                                   "",
		`switch { case d == ir.Keyed: return 1; case d == ir.Queryable: return 2; default: return 3 }`: "chain",
		`switch { case d == ir.Keyed: return 1; case found: return 2; default: return 3 }`:             "",
		`if d == ir.Keyed { return 1 } else if d == ir.Queryable { return 2 } else { return 3 }`:       "chain",
		`if d == ir.Keyed { return 1 } else { return 3 }`:                                              "",
		`if d == postgres { return 1 }`:                                                                "database",
		`return d != sqlite`:                                                                           "database",
		`switch n { case 1: return 1; default: return 2 }`:                                             "",
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

// vocabularies reads the constants of the types that gen/ir/vocabulary.go lists, and of
// the dialects.
func vocabularies(t *testing.T) vocabulary {
	t.Helper()
	listed := map[string]bool{}
	for _, d := range parse(t, "gen/ir/vocabulary.go").Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Recv == nil && f.Type.Results != nil {
			if list, ok := f.Type.Results.List[0].Type.(*ast.ArrayType); ok {
				listed[list.Elt.(*ast.Ident).Name] = true
			}
		}
	}
	words := vocabulary{}
	paths, err := filepath.Glob("gen/ir/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		for name, of := range typedConstants(parse(t, path)) {
			if listed[of] {
				words[name], words["ir."+name] = of, of
			}
		}
	}
	for name, of := range typedConstants(parse(t, "gen/ddl/dialect.go")) {
		if of == dialectType {
			words[name] = of
		}
	}
	if len(listed) < 12 || words["ir.Keyed"] != "Delivery" || words["sqlite"] != dialectType {
		t.Fatalf("the vocabularies were not found: %v", words)
	}
	return words
}

// dialectType is the type of the databases' names in gen/ddl.
const dialectType = "dialect"

func parse(t *testing.T, path string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// typedConstants lists the constants of a file with their types. One without a type has
// that of the constant before it.
func typedConstants(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.CONST {
			continue
		}
		of := ""
		for _, spec := range block.Specs {
			value := spec.(*ast.ValueSpec)
			if id, ok := value.Type.(*ast.Ident); ok {
				of = id.Name
			} else if len(value.Values) > 0 {
				of = ""
			}
			for _, name := range value.Names {
				out[name.Name] = of
			}
		}
	}
	return out
}

// plausible returns how many places of a file look at a word, and those that give a
// word that they do not name a meaning.
func (v vocabulary) plausible(fset *token.FileSet, file *ast.File) (seen int, faults []string) {
	v = v.in(file.Name.Name)
	fault := func(n ast.Node, text string) { faults = append(faults, fset.Position(n.Pos()).String()+": "+text) }
	chained := map[*ast.IfStmt]bool{}
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
			if of, ok := v.compared(n); ok && of == dialectType {
				fault(n, "a comparison with one database decides for every other: write a switch over both, or a trait")
			}
		}
		return true
	})
	return seen, faults
}

// in is v as a package sees it: what it calls by the bare name is its own.
func (v vocabulary) in(name string) vocabulary {
	out := vocabulary{}
	for word, of := range v {
		if qualified := strings.Contains(word, "."); qualified || name == "ir" && of != dialectType || name == "ddl" && of == dialectType {
			out[word] = of
		}
	}
	return out
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

func bare(name string) string { return strings.TrimPrefix(name, "ir.") }

// fallsOut returns the vocabulary of a switch in which every case returns, if the
// function returns something else for what no case names. A String method may.
func (v vocabulary) fallsOut(f *ast.FuncDecl) string {
	if f.Body == nil || len(f.Body.List) < 2 || f.Name.Name == "String" {
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
// or of a test.
func refuses(body []ast.Stmt) bool {
	found := false
	for _, stmt := range body {
		ast.Inspect(stmt, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch name := nameOf(call.Fun); {
			case name == "ir.NoForm", name == "NoForm", name == "fmt.Errorf", name == "errors.New", strings.HasSuffix(name, ".Fatalf"):
				found = true
			}
			return true
		})
	}
	return found
}
