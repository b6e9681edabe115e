package engine

import (
	"crypto/sha256"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// identity derives a UUID (version 8: made by the application) from what a row
// is about. So a step has each of its messages once.
func identity(parts ...string) fsm.UUID {
	// The length of each part keeps ("a", "bc") and ("ab", "c") apart.
	var b strings.Builder
	for _, part := range parts {
		b.WriteString(strconv.Itoa(len(part)) + ":" + part)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return stamp(fsm.UUID(sum[:16]), 8)
}

// stamp sets the version and the variant of RFC 9562.
func stamp(u fsm.UUID, version byte) fsm.UUID {
	u[6] = u[6]&0x0f | version<<4
	u[8] = u[8]&0x3f | 0x80
	return u
}
