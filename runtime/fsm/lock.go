package fsm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// Lock is the lock that a spec declares around the attempts of an effect. The zero Lock is none.
type Lock struct {
	Key string // with {name} for a field of the payload
	TTL time.Duration
}

// hole is a field of a payload in the key of a lock.
var hole = regexp.MustCompile(`\{(\w+)\}`)

// KeyOf returns the key for a payload: a text field stands there as it is, any other as its JSON. A
// field that is absent is an error.
func (l Lock) KeyOf(payload json.RawMessage) (string, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(payload, &fields); err != nil {
		return "", fmt.Errorf("lock %q: %w", l.Key, err)
	}
	var missing error
	key := hole.ReplaceAllStringFunc(l.Key, func(name string) string {
		value, ok := fields[name[1:len(name)-1]]
		if !ok || string(value) == "null" {
			missing = fmt.Errorf("lock %q: the payload has no %s", l.Key, name[1:len(name)-1])
			return ""
		}
		var text string
		if json.Unmarshal(value, &text) == nil {
			return text
		}
		return string(value)
	})
	return key, missing
}
