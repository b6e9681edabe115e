package fsm

import (
	"database/sql/driver"
	"encoding/hex"
	"fmt"
)

// UUID is a universally unique identifier (RFC 9562). Its zero value is the
// nil UUID.
type UUID [16]byte

// ParseUUID reads the form 8-4-4-4-12, in either case.
func ParseUUID(s string) (UUID, error) {
	var u UUID
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return u, fmt.Errorf("uuid %q is not of the form 8-4-4-4-12", s)
	}
	digits := s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	if _, err := hex.Decode(u[:], []byte(digits)); err != nil {
		return UUID{}, fmt.Errorf("uuid %q: %w", s, err)
	}
	return u, nil
}

// String returns the canonical form, in lower case.
func (u UUID) String() string {
	b := u.text()
	return string(b[:])
}

// MarshalText implements encoding.TextMarshaler; JSON uses it too.
func (u UUID) MarshalText() ([]byte, error) {
	b := u.text()
	return b[:], nil
}

func (u UUID) text() (b [36]byte) {
	hex.Encode(b[0:8], u[0:4])
	hex.Encode(b[9:13], u[4:6])
	hex.Encode(b[14:18], u[6:8])
	hex.Encode(b[19:23], u[8:10])
	hex.Encode(b[24:36], u[10:16])
	b[8], b[13], b[18], b[23] = '-', '-', '-', '-'
	return b
}

// UnmarshalText implements encoding.TextUnmarshaler; JSON uses it too.
func (u *UUID) UnmarshalText(text []byte) error {
	parsed, err := ParseUUID(string(text))
	if err != nil {
		return err
	}
	*u = parsed
	return nil
}

// Value implements driver.Valuer: the canonical text, which PostgreSQL takes
// as uuid and SQLite stores as it is.
func (u UUID) Value() (driver.Value, error) { return u.String(), nil }

// Scan implements sql.Scanner for text, 36 bytes of text and 16 raw bytes.
func (u *UUID) Scan(src any) error {
	switch src := src.(type) {
	case string:
		return u.UnmarshalText([]byte(src))
	case []byte:
		if len(src) == len(u) {
			copy(u[:], src)
			return nil
		}
		return u.UnmarshalText(src)
	case [16]byte:
		*u = src
		return nil
	}
	return fmt.Errorf("cannot scan %T into a uuid", src)
}
