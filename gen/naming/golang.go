package naming

import (
	"go/token"
	"strings"
	"unicode"
	"unicode/utf8"
)

// initialisms are the words that Go spells in one case.
var initialisms = map[string]bool{
	"acl": true, "api": true, "ascii": true, "cpu": true, "db": true, "dlq": true, "dns": true,
	"eof": true, "gc": true, "html": true, "http": true, "https": true, "id": true, "ip": true,
	"json": true, "rpc": true, "s3": true, "sla": true, "sns": true, "sql": true, "sqs": true,
	"ssh": true, "tcp": true, "tls": true, "ttl": true, "udp": true, "ui": true, "uri": true,
	"url": true, "utf8": true, "uuid": true, "vm": true, "xml": true,
}

// Exported returns the exported Go identifier of a spec name:
// OFFER_PENDING is OfferPending, check-exists is CheckExists, blob_id is
// BlobID. The result is "" only for a name without a letter or digit.
func Exported(name string) string {
	var b strings.Builder
	for _, w := range words(name) {
		b.WriteString(title(w))
	}
	id := b.String()
	if id != "" && !unicode.IsUpper(firstRune(id)) {
		return "X" + id // a digit, or a letter of a script without case
	}
	return id
}

// Unexported returns the unexported Go identifier of a spec name: commit_upload
// is commitUpload, url_list is urlList. A keyword or predeclared name gets the
// suffix "Value".
func Unexported(name string) string {
	var b strings.Builder
	for i, w := range words(name) {
		if i == 0 {
			b.WriteString(strings.ToLower(w))
		} else {
			b.WriteString(title(w))
		}
	}
	id := b.String()
	switch {
	case id == "":
		return ""
	case unicode.IsDigit(firstRune(id)):
		return "x" + id
	case IsGoKeyword(id) || isPredeclared(id):
		return id + "Value"
	}
	return id
}

// IsGoKeyword reports whether name is a keyword of Go.
func IsGoKeyword(name string) bool { return token.IsKeyword(name) }

// words splits a name at everything that is no letter and no digit, and where
// a lower case letter or digit meets an upper case letter (camelCase).
func words(name string) []string {
	var out []string
	for _, part := range strings.FieldsFunc(name, isSeparator) {
		start, prev := 0, rune(0)
		for i, r := range part {
			if unicode.IsUpper(r) && unicode.IsLower(prev) {
				out = append(out, part[start:i])
				start = i
			}
			prev = r
		}
		out = append(out, part[start:])
	}
	return out
}

func isSeparator(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }

func title(word string) string {
	lower := strings.ToLower(word)
	if initialisms[lower] {
		return strings.ToUpper(word)
	}
	if one, plural := strings.CutSuffix(lower, "s"); plural && initialisms[one] {
		return strings.ToUpper(one) + "s"
	}
	r, n := utf8.DecodeRuneInString(lower)
	return string(unicode.ToUpper(r)) + lower[n:]
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

func isPredeclared(name string) bool {
	switch name {
	case "any", "append", "bool", "byte", "cap", "clear", "close", "comparable", "complex",
		"copy", "delete", "error", "false", "float32", "float64", "imag", "int", "int8", "int16",
		"int32", "int64", "iota", "len", "make", "max", "min", "new", "nil", "panic", "print",
		"println", "real", "recover", "rune", "string", "true", "uint", "uint8", "uint16",
		"uint32", "uint64", "uintptr":
		return true
	}
	return false
}
