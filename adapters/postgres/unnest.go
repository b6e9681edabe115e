package postgres

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// arraysText selects rows whose columns a1, a2 and so on are parameters, an
// array each from $1 on. Arrays of lists would have to be rectangles, so a list
// is sent as the text of one.
//
// The LIMIT drops nothing. PostgreSQL does not know it when it plans without the
// values, and expects a tenth of the ten rows that it takes an array for. One
// row is what makes it look rows up by their key however small the table was
// then, and makes it keep that plan: one for the real length seems dearer.
func arraysText(types []string) string {
	columns, arrays := make([]string, len(types)), make([]string, len(types))
	for i, typ := range types {
		columns[i], arrays[i] = fmt.Sprintf("a%d", i+1), fmt.Sprintf("$%d::%s[]", i+1, typ)
		if isList(typ) {
			columns[i], arrays[i] = fmt.Sprintf("a%[1]d::%[2]s AS a%[1]d", i+1, typ), fmt.Sprintf("$%d::text[]", i+1)
		}
	}
	return fmt.Sprintf("SELECT %s FROM unnest(%s) AS s (%s) LIMIT cardinality(%s)",
		strings.Join(columns, ", "), strings.Join(arrays, ", "), places("a", 1, len(types)), arrays[0])
}

// arraysOf are the parameters of arraysText.
func arraysOf(types []string, rows [][]any) []any {
	args := make([]any, len(types))
	for i, typ := range types {
		values := make([]any, len(rows))
		for n, row := range rows {
			values[n] = row[i]
			if isList(typ) {
				values[n] = listText(row[i])
			}
		}
		args[i] = arrayOf(typ, values)
	}
	return args
}

// arrayOf is the parameter for an array, in the form that pgx sends with the least
// work: of []any it finds out by reflection what it is, and text that stands for a
// UUID it first tries to send in binary.
func arrayOf(typ string, values []any) any {
	if typ == "uuid" {
		if ids, ok := uuidsOf(values); ok {
			return ids
		}
	}
	return pgtype.FlatArray[any](values)
}

// uuidsOf are UUIDs that are text; ok is false where one is not, which is for the
// server to refuse.
func uuidsOf(values []any) (ids pgtype.FlatArray[pgtype.UUID], ok bool) {
	ids = make(pgtype.FlatArray[pgtype.UUID], len(values))
	for i, v := range values {
		if v == nil {
			continue
		}
		text, _ := v.(string)
		id, err := fsm.ParseUUID(text)
		if err != nil {
			return nil, false
		}
		ids[i] = pgtype.UUID{Bytes: id, Valid: true}
	}
	return ids, true
}

func isList(typ string) bool { return strings.HasSuffix(typ, "[]") }

// listText is a list as PostgreSQL writes it. A list of a record is nil, text, numbers or
// bools: see fsm.Plain.
func listText(list any) any {
	var elements []string
	switch list := list.(type) {
	case []string:
		if list == nil {
			return nil
		}
		for _, s := range list {
			elements = append(elements, `"`+listEscapes.Replace(s)+`"`)
		}
	case []int64:
		if list == nil {
			return nil
		}
		for _, n := range list {
			elements = append(elements, strconv.FormatInt(n, 10))
		}
	case []bool:
		for _, b := range list {
			elements = append(elements, strconv.FormatBool(b))
		}
	default:
		return list
	}
	return "{" + strings.Join(elements, ",") + "}"
}

var listEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)
