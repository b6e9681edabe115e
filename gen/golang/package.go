package golang

import (
	"strings"

	"github.com/dave/jennifer/jen"
)

// doc emits the package comment and what names the machine.
func (g *generator) doc(f *jen.File) {
	f.PackageComment("// Package " + g.m.Text + " is the state machine " + g.m.Text + ".")
	if doc := strings.TrimSpace(g.m.Doc); doc != "" {
		f.PackageComment("//")
		for _, line := range strings.Split(doc, "\n") {
			f.PackageComment(commentLine(line))
		}
	}
	for _, line := range g.usage() {
		f.PackageComment(line)
	}
	f.Comment("// The machine and the version of its table.")
	f.Const().Defs(
		jen.Id("MachineName").Op("=").Lit(g.m.Text),
		jen.Id("MachineVersion").Op("=").Lit(g.m.Version),
	)
}

func (g *generator) usage() []string {
	lines := []string{
		"//",
		"// A method of [Record] per event decides: it returns the transitions taken and changes the record, or",
		"// returns a *fsm.Rejection and leaves it alone. Nothing here does I/O, reads a clock or draws a random",
		"// number. [Effects] and [DeadlineOf] say as data what a step asks for; an engine carries it out.",
		"//",
		"// [Define] joins the machine with the [Handlers] of its effects for an engine.",
	}
	if g.hasParams() {
		lines = append(lines,
			"//",
			"// A method takes [Params] exactly where a row of its event, or of what it raises, reads one.")
	}
	return lines
}

// schema emits the SQL that package ddl made for the machine.
//
//	//go:embed postgres.sql
//	var postgresSchema string
func (g *generator) schema(f *jen.File) {
	f.Anon("embed")
	for _, s := range []struct{ file, variable, accessor, database string }{
		{"postgres.sql", "postgresSchema", "PostgresSchema", "PostgreSQL"},
		{"sqlite.sql", "sqliteSchema", "SQLiteSchema", "SQLite"},
	} {
		f.Comment("//go:embed " + s.file)
		f.Var().Id(s.variable).String()
		f.Line()
		declare(f, s.accessor+" returns the tables, constraints and triggers for "+s.database+".", "",
			jen.Func().Id(s.accessor).Params().String().Block(jen.Return(jen.Id(s.variable))))
	}
}
