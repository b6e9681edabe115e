package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/domain"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// maxNamed bounds the values that one message names.
const maxNamed = 6

// witness names the values of a case that could have been otherwise, such as
// `attempts = 5 and $max_attempts = 5`, or is "".
func (sp space) witness(a domain.Assignment) string {
	incoming := map[*ir.Field]bool{}
	for _, v := range sp.Vars {
		if v.Event != nil {
			incoming[v.Field] = true
		}
	}
	var parts []string
	for i, v := range sp.Vars {
		if len(sp.Classes[i]) < 2 && v.Special != "" {
			continue
		}
		name := varName(v)
		if v.Event == nil && incoming[v.Field] {
			name = "stored " + name
		}
		parts = append(parts, name+" = "+show(a.Values[i]))
	}
	if len(parts) > maxNamed {
		parts = append(parts[:maxNamed], "…")
	}
	return strings.Join(parts, ", ")
}

// when is a witness with the words that lead to it, or "".
func (sp space) when(a domain.Assignment) string {
	text := sp.witness(a)
	if text == "" {
		return ""
	}
	if !sp.exhaustive {
		text += " (sampled)"
	}
	return " when " + text
}

func varName(v domain.Var) string {
	switch {
	case v.Field != nil:
		return v.Field.Text
	case v.Param != nil:
		return "$" + v.Param.Text
	}
	return "$" + string(v.Special)
}

// show renders a value for a message: times stand relative to now, strings
// in quotes.
func show(v ir.Value) string {
	switch v := v.(type) {
	case nil:
		return "absent"
	case string:
		if len(v) > 40 {
			return fmt.Sprintf("%.20q… (%d characters)", v, len([]rune(v)))
		}
		return fmt.Sprintf("%q", v)
	case time.Time:
		switch d := v.Sub(now()); {
		case d == 0:
			return "$now"
		case d > 0:
			return "$now + " + short(d)
		default:
			return "$now - " + short(-d)
		}
	case time.Duration:
		return short(v)
	case []any:
		items := make([]string, len(v))
		for i, x := range v {
			items[i] = show(x)
		}
		return "[" + strings.Join(items, ", ") + "]"
	}
	return fmt.Sprint(v)
}

// short is a duration without its zero parts: 1h, not 1h0m0s.
func short(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "" {
		return "0s"
	}
	return s
}

// plain renders a value as text in a template.
func plain(v ir.Value) string {
	if s, ok := v.(string); ok {
		return s
	}
	return fmt.Sprint(v)
}
