package interp

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// Record is one record of a machine. Version counts its steps.
type Record struct {
	State  *ir.State // nil before creation
	ID     ir.Value
	Values []ir.Value // by Field.Index; nil: absent
	// Version is 0 before creation and 1 after the first step.
	Version int64
}

// Blank is the record before creation: an id, the defaults, and nothing else.
func Blank(m *ir.Machine, id ir.Value) *Record {
	r := &Record{ID: id, Values: make([]ir.Value, len(m.Fields))}
	for _, f := range m.Fields {
		if f.HasDefault {
			r.Values[f.Index] = f.Default
		}
	}
	r.Derive(m)
	return r
}

// Clone returns a copy that shares nothing mutable with r.
func (r *Record) Clone() *Record {
	c := *r
	c.Values = slices.Clone(r.Values)
	return &c
}

// Get returns the value of a record field or of the record's id.
func (r *Record) Get(f *ir.Field) ir.Value {
	if f.Index < 0 {
		return r.ID
	}
	return r.Values[f.Index]
}

// Derive recomputes the derived fields; one is absent while a part of it is.
func (r *Record) Derive(m *ir.Machine) {
	for _, f := range m.Fields {
		if f.Derive != nil {
			r.Values[f.Index] = r.fill(f.Derive)
		}
	}
}

func (r *Record) fill(t *ir.Template) ir.Value {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Field == nil {
			b.WriteString(p.Text)
			continue
		}
		v := r.Get(p.Field)
		if v == nil {
			return nil
		}
		b.WriteString(text(p.Field.Type, v))
	}
	return b.String()
}

// TimeLayout is how a time becomes text: fixed width, so that text order is
// time order.
const TimeLayout = "2006-01-02T15:04:05.000000Z"

// text writes a value as a part of a derived text or of a metric's label, "" where it
// is absent. A list is its JSON.
func text(t ir.Type, v ir.Value) string {
	if v == nil {
		return ""
	}
	switch t.Base {
	case ir.String, ir.UUID, ir.EnumOf, ir.JSON:
		return v.(string)
	case ir.Int:
		return strconv.FormatInt(v.(int64), 10)
	case ir.Bool:
		return strconv.FormatBool(v.(bool))
	case ir.Duration:
		return strconv.FormatInt(int64(v.(time.Duration)), 10)
	case ir.Time:
		return v.(time.Time).UTC().Format(TimeLayout)
	case ir.ListOf:
		list, err := json.Marshal(plain(t, v))
		if err != nil {
			return ""
		}
		return string(list)
	}
	panic(ir.NoForm("interp.text", t.Base))
}
