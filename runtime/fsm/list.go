package fsm

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
)

// assignList stores a list column: JSON text, a PostgreSQL array literal, or
// what a driver already made of it.
func assignList(dest reflect.Value, src any) error {
	if v := reflect.ValueOf(src); v.Type().AssignableTo(dest.Type()) {
		dest.Set(v)
		return nil
	}
	text, ok := src.(string)
	if !ok {
		return fmt.Errorf("cannot scan %T into %s", src, dest.Type())
	}
	if strings.HasPrefix(text, "[") {
		return json.Unmarshal([]byte(text), dest.Addr().Interface())
	}
	elems, err := parseArray(text)
	if err != nil {
		return err
	}
	list := reflect.MakeSlice(dest.Type(), len(elems), len(elems))
	for i, e := range elems {
		if err := assign(list.Index(i).Addr().Interface(), e); err != nil {
			return fmt.Errorf("element %d: %w", i+1, err)
		}
	}
	dest.Set(list)
	return nil
}

// parseArray splits a one-dimensional PostgreSQL array literal: {a,"b c"}.
func parseArray(text string) ([]string, error) {
	body, ok := strings.CutPrefix(text, "{")
	if ok {
		body, ok = strings.CutSuffix(body, "}")
	}
	if !ok {
		return nil, fmt.Errorf("cannot scan %q into a list", text)
	}
	var out []string
	for body != "" {
		elem, rest, err := arrayElement(body)
		if err != nil {
			return nil, fmt.Errorf("cannot scan %q into a list: %w", text, err)
		}
		out = append(out, elem)
		body = rest
	}
	return out, nil
}

// arrayElement takes the first element and its comma off an array's body.
func arrayElement(body string) (elem, rest string, err error) {
	if body[0] != '"' {
		elem, rest, _ = strings.Cut(body, ",")
		if elem == "NULL" {
			return "", "", fmt.Errorf("an element is NULL")
		}
		return elem, rest, nil
	}
	var b strings.Builder
	for i := 1; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
			if i < len(body) {
				b.WriteByte(body[i])
			}
		case '"':
			return b.String(), strings.TrimPrefix(body[i+1:], ","), nil
		default:
			b.WriteByte(body[i])
		}
	}
	return "", "", fmt.Errorf("a quote is not closed")
}
