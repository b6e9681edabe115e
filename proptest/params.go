package proptest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/gen/interp"
	"github.com/fsmgen/fsmgen/gen/ir"
)

// distinguish gives every param of m a value that no other one has: defaults
// are often equal, and then a param that is read in place of another would go
// unnoticed. The table under test has these values as its defaults.
func distinguish(m *ir.Machine) {
	for i, p := range m.Params {
		switch v := p.Default.(type) {
		case int64:
			p.Default = v + int64(i)
		case time.Duration:
			p.Default = v + time.Duration(i+1)*time.Minute
		case string:
			if p.Type.Base == ir.String {
				p.Default = fmt.Sprintf("%s-%d", v, i)
			}
		}
	}
}

// MarshalParams renders the defaults of the params by name, as the generated
// Params reads them.
func MarshalParams(m *ir.Machine) json.RawMessage {
	values := map[string]json.RawMessage{}
	for _, p := range m.Params {
		values[p.Text] = interp.MarshalValue(p.Type, p.Default)
	}
	text, err := json.Marshal(values)
	if err != nil {
		return nil // no value that a param can have fails to encode
	}
	return text
}
