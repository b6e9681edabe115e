package fsmgen_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// vocabulary maps the constants of the closed vocabularies, each with its package
// ("ir.Keyed"), to their types ("ir.Delivery").
type vocabulary map[string]string

// The types of which a comparison with one word decides for every other: the databases'
// names in gen/ddl and in the attacks, and the delivery classes.
const (
	dialectType    = "ddl.dialect"
	attackedType   = "attacks.Dialect"
	compiledClass  = "ir.Delivery"
	deliveredClass = "fsm.Delivery"
)

// killedKind is what the crash proof calls a delivery class, beside what else a process does.
const killedKind = "crash.Kind"

// vocabularies reads the constants of the types that gen/ir/vocabulary.go lists, of the
// dialects, of the kinds of the crash proof, and of every type of words or numbers that a
// package of runtime/ declares.
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
	words.read(t, "gen/ir", listed)
	words.read(t, "gen/ddl", map[string]bool{"dialect": true})
	words.read(t, "proptest/attacks", map[string]bool{"Dialect": true})
	words.read(t, "proptest/crash", map[string]bool{"Kind": true})
	folders, err := filepath.Glob("runtime/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		words.read(t, folder, nil)
	}
	for word, of := range map[string]string{
		"ir.Keyed": compiledClass, "ddl.sqlite": dialectType, "fsm.Keyed": deliveredClass,
		"attacks.InSQLite": attackedType, "crash.Cleanup": killedKind,
		"fsm.EffectLog": "fsm.EffectKind", "store.ReadPauses": "store.ReadKind", "engine.OpBatch": "engine.OperationKind",
	} {
		if words[word] != of {
			t.Fatalf("%s is not found among %v", word, words)
		}
	}
	return words
}

// read adds the constants of the named types of a folder, or, without names, of every type of
// words or numbers that it declares.
func (v vocabulary) read(t *testing.T, folder string, named map[string]bool) {
	t.Helper()
	paths, err := filepath.Glob(folder + "/*.go")
	if err != nil {
		t.Fatal(err)
	}
	constants, declared := map[string]string{}, map[string]bool{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file := parse(t, path)
		for name, of := range typedConstants(file) {
			constants[name] = of
		}
		for _, name := range basicTypes(file) {
			declared[name] = true
		}
	}
	if named == nil {
		named = declared
	}
	pkg := filepath.Base(folder) + "."
	for name, of := range constants {
		if named[of] {
			v[pkg+name] = pkg + of
		}
	}
}

// in is v as a package sees it: it calls its own words by the bare name.
func (v vocabulary) in(pkg string) vocabulary {
	out := vocabulary{}
	for word, of := range v {
		if own, ok := strings.CutPrefix(word, pkg+"."); ok {
			out[own] = of
		}
		out[word] = of
	}
	return out
}

// bare returns a word, or a type, without its package.
func bare(name string) string { return name[strings.LastIndex(name, ".")+1:] }

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

// basicTypes lists the types of a file that are declared as words or numbers.
func basicTypes(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		block, ok := d.(*ast.GenDecl)
		if !ok || block.Tok != token.TYPE {
			continue
		}
		for _, spec := range block.Specs {
			declared := spec.(*ast.TypeSpec)
			if _, basic := declared.Type.(*ast.Ident); basic && !declared.Assign.IsValid() {
				names = append(names, declared.Name.Name)
			}
		}
	}
	return names
}
