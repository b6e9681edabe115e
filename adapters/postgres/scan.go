package postgres

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// scan reads the present row. Unlike rows.Scan it leaves rows usable when a
// column can't be read, so that the rows behind a corrupt one are still found;
// and it reads as many of the columns as it can.
func scan(rows pgx.Rows, dest ...any) error {
	types, fields, values := rows.Conn().TypeMap(), rows.FieldDescriptions(), rows.RawValues()
	if len(dest) != len(fields) {
		return fmt.Errorf("%d columns for %d variables", len(fields), len(dest))
	}
	var problems []error
	for i, f := range fields {
		if err := scanColumn(types, f, values[i], dest[i]); err != nil {
			problems = append(problems, fmt.Errorf("column %s: %w", f.Name, err))
		}
	}
	return errors.Join(problems...)
}

// scanColumn reads one column. pgx hands an array to a sql.Scanner in its wire
// format; here it becomes JSON, which records read.
func scanColumn(types *pgtype.Map, f pgconn.FieldDescription, value []byte, dest any) error {
	field, isScanner := dest.(fsm.Scanner)
	if !isScanner {
		return types.Scan(f.DataTypeOID, f.Format, value, dest)
	}
	if plain := plainValue(f, value); plain != nil || value == nil {
		return field.Scan(plain)
	}
	typ, known := types.TypeForOID(f.DataTypeOID)
	if !known {
		return types.Scan(f.DataTypeOID, f.Format, value, dest)
	}
	array, ok := typ.Codec.(*pgtype.ArrayCodec)
	if !ok {
		return types.Scan(f.DataTypeOID, f.Format, value, dest)
	}
	decoded, err := array.DecodeValue(types, f.DataTypeOID, f.Format, value)
	if err != nil {
		return err
	}
	elements, _ := decoded.([]any) // what DecodeValue returns for an array
	for i, e := range elements {
		if u, ok := e.([16]byte); ok {
			elements[i] = fsm.UUID(u)
		}
	}
	encoded, err := json.Marshal(elements)
	if err != nil {
		return err
	}
	return field.Scan(string(encoded))
}

// plainValue decodes the types that most columns of a record have, in the format
// in which pgx asks for them; nil: it is another one. pgx would look up how to
// decode each value, which takes longer than to decode it.
func plainValue(f pgconn.FieldDescription, value []byte) any {
	const year2000 = 946_684_800 // when PostgreSQL begins to count
	switch {
	case f.Format != pgx.BinaryFormatCode && f.DataTypeOID != pgtype.TextOID:
		return nil
	case f.DataTypeOID == pgtype.TextOID && value != nil:
		return string(value)
	case f.DataTypeOID == pgtype.BoolOID && len(value) == 1:
		return value[0] != 0
	case f.DataTypeOID == pgtype.Int8OID && len(value) == 8:
		return int64(binary.BigEndian.Uint64(value))
	case f.DataTypeOID == pgtype.UUIDOID && len(value) == 16:
		return [16]byte(value)
	case f.DataTypeOID == pgtype.TimestamptzOID && len(value) == 8:
		micros := int64(binary.BigEndian.Uint64(value))
		if micros == math.MaxInt64 || micros == math.MinInt64 {
			return nil // infinity
		}
		return time.Unix(year2000+micros/1_000_000, micros%1_000_000*1000).UTC()
	}
	return nil
}

// text reads a text where null is "".
type text struct{ dest *string }

// Scan implements sql.Scanner.
func (t text) Scan(src any) error {
	if src == nil {
		*t.dest = ""
		return nil
	}
	return fsm.Into(t.dest).Scan(src)
}

// instant reads a time in UTC.
func instant(dest *time.Time) fsm.Scanner { return fsm.Into(dest) }

// optionalInstant reads a time that may be null.
func optionalInstant(dest *fsm.Optional[time.Time]) fsm.Scanner { return fsm.Into(dest) }

// nullable returns s for the database, where an empty text is null.
func nullable[T ~string | ~[]byte](s T) any {
	if len(s) == 0 {
		return nil
	}
	return string(s)
}

func nullableInstant(t fsm.Optional[time.Time]) any {
	if !t.IsSet {
		return nil
	}
	return t.V
}

// column collects one column of many rows, to be sent as an array.
func column[R, V any](rows []R, value func(R) V) []V {
	out := make([]V, len(rows))
	for i, r := range rows {
		out[i] = value(r)
	}
	return out
}
