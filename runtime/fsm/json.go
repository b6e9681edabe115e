package fsm

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// JSON is a compact JSON text. It is a string, so a record that holds one can
// be copied and compared. The empty JSON is no value.
type JSON string

// ParseJSON checks and compacts a JSON text.
func ParseJSON(text []byte) (JSON, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, text); err != nil {
		return "", err
	}
	if err := checkText(b.Bytes()); err != nil {
		return "", err
	}
	return JSON(b.String()), nil
}

// MarshalJSON returns the text itself, null for no value.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON stores the text, compacted.
func (j *JSON) UnmarshalJSON(text []byte) error {
	parsed, err := ParseJSON(text)
	if err != nil {
		return err
	}
	*j = parsed
	return nil
}

// Value implements driver.Valuer.
func (j JSON) Value() (driver.Value, error) { return string(j), nil }

// Scan implements sql.Scanner.
func (j *JSON) Scan(src any) error {
	switch src := src.(type) {
	case string:
		return j.UnmarshalJSON([]byte(src))
	case []byte:
		return j.UnmarshalJSON(src)
	}
	return fmt.Errorf("cannot scan %T into JSON", src)
}
