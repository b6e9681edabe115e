package simulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/ir"
)

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// absent is how the user writes, and sees, no value.
const absent = "null"

// parseValue reads text as a value of type t. A time may be `now`, `now+48h`
// or `now-1h`.
func parseValue(text string, t ir.Type, now time.Time) (ir.Value, error) {
	if text == absent {
		if !t.Optional {
			return nil, fmt.Errorf("a value of type %s is required", t)
		}
		return nil, nil
	}
	fail := func(want string) (ir.Value, error) {
		return nil, fmt.Errorf("%s is not of type %s; write %s", text, t, want)
	}
	switch t.Base {
	case ir.Int:
		if v, err := strconv.ParseInt(text, 10, 64); err == nil {
			return v, nil
		}
		return fail("a whole number such as 42")
	case ir.Bool:
		if text == "true" || text == "false" {
			return text == "true", nil
		}
		return fail("true or false")
	case ir.Duration:
		if v, err := time.ParseDuration(text); err == nil {
			return v, nil
		}
		return fail("a number with a unit such as 90s or 48h")
	case ir.Time:
		if v, ok := parseTime(text, now); ok {
			return v, nil
		}
		return fail("now, now+48h, or 2026-01-31T12:00:00Z")
	case ir.UUID:
		if uuidText.MatchString(text) {
			return text, nil
		}
		return fail("one such as 00000000-0000-4000-8000-000000000001")
	case ir.JSON:
		var b bytes.Buffer
		if json.Compact(&b, []byte(text)) == nil {
			return b.String(), nil
		}
		return fail(`JSON such as {"text": "hello"}`)
	case ir.EnumOf:
		return parseEnum(unquote(text), t.Enum)
	case ir.ListOf:
		return parseList(text, *t.Elem, now)
	case ir.String:
		return unquote(text), nil
	}
	return nil, ir.NoForm("simulate.parseValue", t.Base)
}

func parseTime(text string, now time.Time) (time.Time, bool) {
	if offset, ok := strings.CutPrefix(text, "now"); ok {
		if offset == "" {
			return now, true
		}
		d, err := time.ParseDuration(offset)
		return now.Add(d), err == nil && (offset[0] == '+' || offset[0] == '-')
	}
	v, err := time.Parse(time.RFC3339Nano, text)
	return v.UTC().Truncate(time.Microsecond), err == nil
}

func parseEnum(text string, e *ir.Enum) (ir.Value, error) {
	var words []string
	for _, v := range e.Values {
		words = append(words, v.Text)
	}
	if slices.Contains(words, text) {
		return text, nil
	}
	help := "one of: " + strings.Join(words, ", ")
	if near := diag.Nearest(text, words); near != "" {
		help = fmt.Sprintf("did you mean %q?", near)
	}
	return nil, fmt.Errorf("%s is not a value of %s; %s", text, e, help)
}

func parseList(text string, elem ir.Type, now time.Time) (ir.Value, error) {
	inside, opened := strings.CutPrefix(text, "[")
	inside, closed := strings.CutSuffix(inside, "]")
	if !opened || !closed {
		return nil, fmt.Errorf("%s is not a list; write it as [a, b]", text)
	}
	list := []any{}
	for _, part := range split(inside, ',') {
		v, err := parseValue(part, elem, now)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// unquote removes the quotes that the user wrote around blanks.
func unquote(text string) string {
	if len(text) < 2 {
		return text
	}
	switch first, last := text[0], text[len(text)-1]; {
	case first == '\'' && last == '\'':
		return text[1 : len(text)-1]
	case first == '"' && last == '"':
		if s, err := strconv.Unquote(text); err == nil {
			return s
		}
	}
	return text
}

// split cuts text at sep, but not inside quotes, brackets and braces. Empty
// parts and blanks around parts are dropped.
func split(text string, sep rune) []string {
	var parts []string
	var part strings.Builder
	var quote rune
	depth, escaped := 0, false
	end := func() {
		if p := strings.TrimSpace(part.String()); p != "" {
			parts = append(parts, p)
		}
		part.Reset()
	}
	for _, r := range text {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			escaped = r == '\\' && quote == '"'
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '[' || r == '{':
			depth++
		case r == ']' || r == '}':
			depth--
		case r == sep && depth <= 0:
			end()
			continue
		}
		part.WriteRune(r)
	}
	end()
	return parts
}

// show writes a value as the user would.
func show(v ir.Value) string {
	switch v := v.(type) {
	case nil:
		return absent
	case string:
		if v == "" || v == absent || strings.ContainsAny(v, " \t\n\"',[]{}") && !json.Valid([]byte(v)) {
			return strconv.Quote(v)
		}
		return v
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, show(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v)
}
