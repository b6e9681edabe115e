package ddl

import (
	"fmt"
	"strings"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// shapeDemands admit only values of the column's type: enum words, bounds, and
// what the SQL type is too wide to refuse. row is the prefix of the column.
func shapeDemands(d dialect, row, owner string, c Column) []demand {
	plain, col := strings.Trim(c.Name, `"`), row+c.Name
	name := func(rule string) string { return ruleName(owner, plain, rule) }
	of := c.Type
	of.Optional = false
	shape := func(rule, cond, what string) demand {
		return demand{
			name: name(rule), cond: cond,
			wrong: []text{words(plain + " is "), value(col), words(", which is no " + what)}, hint: "Store a " + what + ".",
		}
	}
	var list []demand
	switch of.Base {
	case ir.EnumOf:
		list = append(list, declared(name("declared"), plain, col, enumWords(of.Enum)))
	case ir.ListOf:
		list = append(list, shape("list", d.listShape(of, col), of.String()+" without absent elements"))
	case ir.Time:
		if cond := d.timeShape(c, row, col); cond != "" {
			list = append(list, shape("time", cond, "time of the years 1 to 9999"))
		}
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID, ir.JSON:
		if cond := d.scalarShape(of, col); cond != "" {
			list = append(list, shape(string(of.Base), cond, of.String()))
		}
	default:
		panic(ir.NoForm("ddl.shapeDemands", of.Base))
	}
	return append(list, bounds(c, col, name("range"))...)
}

// bounds are min and max: of the value of an int, of the length of a string in
// characters.
func bounds(c Column, col, name string) []demand {
	if c.Field == nil || c.Field.Min == nil && c.Field.Max == nil {
		return nil
	}
	what := strings.Trim(c.Name, `"`)
	if c.Type.Base.ByLength() {
		col, what = "length("+col+")", "length("+what+")"
	}
	var within string
	switch lo, hi := c.Field.Min, c.Field.Max; {
	case hi == nil:
		within = fmt.Sprintf(">= %d", *lo)
	case lo == nil:
		within = fmt.Sprintf("<= %d", *hi)
	default:
		within = fmt.Sprintf("BETWEEN %d AND %d", *lo, *hi)
	}
	return []demand{{
		name: name, cond: col + " " + within,
		wrong: []text{words(what + " is "), value(col), words(", not " + strings.ToLower(within))}, hint: "Store a value within the bounds.",
	}}
}

// timeText admits fixed width text that orders as time does. That the day and
// the hour exist is for strftime to say.
const timeText = "[0-9][0-9][0-9][0-9]-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9].[0-9][0-9][0-9][0-9][0-9][0-9]Z"

// firstTime and endOfTime are the first time that Go can read back from PostgreSQL, and the first
// that it can't.
const firstTime, endOfTime = "'0001-01-01 00:00:00Z'", "'10000-01-01 00:00:00Z'"

// timeShape admits the times that Go can read back. That of a PostgreSQL history is
// the record's (historyRules), which needs no CHECK to be parsed for each statement.
func (d dialect) timeShape(c Column, row, col string) string {
	switch d {
	case postgres:
		if c.Field == nil && row == "" {
			return ""
		}
		return col + " >= " + firstTime + " AND " + col + " < " + endOfTime
	case sqlite:
		return sqliteTime(col)
	}
	panic(ir.NoForm("ddl.timeShape", d))
}

func sqliteTime(col string) string {
	second := "substr(" + col + ", 1, 19)" // without the fraction, which strftime would round up
	return col + " GLOB '" + timeText + "' AND " + col + " >= '0001'\n" +
		"            AND strftime('%Y-%m-%dT%H:%M:%S', " + second + ", '+0 days') IS " + second
}

// scalarShape is "" where the SQL type already refuses every other value.
func (d dialect) scalarShape(t ir.Type, col string) string {
	switch d {
	case postgres:
		return postgresScalar(t)
	case sqlite:
		return sqliteScalar(t, col)
	}
	panic(ir.NoForm("ddl.scalarShape", d))
}

// postgresScalar is "" for each type that PostgreSQL has too.
func postgresScalar(t ir.Type) string {
	switch t.Base {
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID, ir.JSON:
		return ""
	case ir.Time, ir.ListOf, ir.EnumOf: // have shapes of their own
	}
	panic(ir.NoForm("ddl.postgresScalar", t.Base))
}

func sqliteScalar(t ir.Type, col string) string {
	switch t.Base {
	case ir.Bool:
		return col + " IN (0, 1)"
	case ir.UUID:
		return col + " GLOB '????????-????-????-????-????????????'\n            AND length(replace(" + col + ", '-', '')) = 32" +
			" AND replace(" + col + ", '-', '') NOT GLOB '*[^0-9a-f]*'"
	case ir.JSON:
		return isJSON(col)
	case ir.String, ir.Int, ir.Duration:
		return ""
	case ir.Time, ir.ListOf, ir.EnumOf: // have shapes of their own
	}
	panic(ir.NoForm("ddl.sqliteScalar", t.Base))
}

// isJSON lets null pass, which json_valid before SQLite 3.42 calls no JSON.
func isJSON(col string) string { return "(" + col + " IS NULL OR json_valid(" + col + "))" }

// listShape is what can be said about a list without a query. SQLite looks into
// the elements with a trigger (elementRules).
func (d dialect) listShape(t ir.Type, col string) string {
	switch d {
	case sqlite:
		return isJSON(col) + " AND json_type(" + col + ") = 'array'"
	case postgres:
		return postgresList(t, col)
	}
	panic(ir.NoForm("ddl.listShape", d))
}

// postgresList looks into the elements, which have the type of the array, and no NULL among them.
func postgresList(t ir.Type, col string) string {
	const present = "array_position(%s, NULL) IS NULL"
	switch t.Elem.Base {
	case ir.ListOf:
		return "jsonb_typeof(" + col + ") = 'array'"
	case ir.EnumOf:
		return col + " <@ ARRAY[" + quoteAll(enumWords(t.Elem.Enum)) + "]"
	case ir.Time:
		return fmt.Sprintf(present+" AND "+firstTime+" <= ALL (%[1]s) AND "+endOfTime+" > ALL (%[1]s)", col)
	case ir.String, ir.Int, ir.Bool, ir.Duration, ir.UUID:
		return fmt.Sprintf(present, col)
	case ir.JSON: // is no element
	}
	panic(ir.NoForm("ddl.postgresList", t.Elem.Base))
}
