package naming

import "strings"

// Column returns the SQL identifier of a spec name: its words in lower case,
// joined by underscores. Inner capitals do not split: SQL folds case.
func Column(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), isSeparator), "_")
}

// IsSQLReserved reports whether name, in any case, is a reserved word of
// PostgreSQL or SQLite and so can't be an identifier without quotes.
func IsSQLReserved(name string) bool { return sqlReserved[strings.ToLower(name)] }

// sqlReserved holds the reserved words of PostgreSQL 17 (those that "can be
// function or type" included) and the keywords that SQLite does not accept as
// identifiers.
var sqlReserved = set(`
	all analyse analyze and any array as asc asymmetric authorization binary both case cast check
	collate collation column concurrently constraint create cross current_catalog current_date
	current_role current_schema current_time current_timestamp current_user default deferrable desc
	distinct do else end except false fetch for foreign freeze from full grant group having ilike in
	initially inner intersect into is isnull join lateral leading left like limit localtime
	localtimestamp natural not notnull null offset on only or order outer overlaps placing primary
	references returning right select session_user similar some symmetric system_user table
	tablesample then to trailing true union unique user using variadic verbose when where window with
	add alter autoincrement between commit delete drop escape exists if index insert nothing set
	transaction update values
`)

func set(words string) map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(words) {
		out[w] = true
	}
	return out
}
