package naming

import (
	"slices"
	"strings"
)

// Article returns the indefinite article before a name of a spec, as English is spoken: an
// abort_reason, a user_role, an hour, an http_code.
func Article(name string) string {
	all := words(name)
	if len(all) == 0 {
		return "a"
	}
	first := strings.ToLower(all[0])
	vowel := strings.ContainsRune("aeiou", firstRune(first))
	if initialisms[first] { // spelled by its letters: an S3, a URL
		vowel = strings.ContainsRune("aefhilmnorsx", firstRune(first))
	}
	if slices.ContainsFunc(otherwise, func(sound string) bool { return strings.HasPrefix(first, sound) }) {
		vowel = !vowel
	}
	if vowel {
		return "an"
	}
	return "a"
}

// otherwise begin words whose first sound is not what their first letter says: a unit, a user, a
// European, a one-way ticket; an hour, an honest broker.
var otherwise = []string{
	"unic", "unif", "unio", "uniq", "unit", "univ", "use", "usa", "usu", "uti", "eu", "one", "once", "hour", "hono", "hones", "heir",
}
