package fsm

import "strconv"

// KeyPart returns one of several parts of an idempotency key: its length in bytes, a
// colon, and the text. So ("a", "bc") and ("ab", "c") make different keys, whatever
// stands between the parts.
func KeyPart(text string) string { return strconv.Itoa(len(text)) + ":" + text }
