package syntax

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/gen/diag"
)

var declaredName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// checkShape reports every place where n is not of shape s.
func checkShape(n *Node, s *Shape, l *diag.List) {
	switch n.Kind {
	case Map:
		switch {
		case s.Keys != nil:
			checkKeys(n, s, l)
		case s.Names != nil:
			checkNames(n, s, l)
		default:
			wrongKind(n, s, l)
		}
	case List:
		if s.Items == nil {
			wrongKind(n, s, l)
			return
		}
		for _, item := range n.Items {
			checkShape(item, s.Items, l)
		}
	case Scalar:
		checkScalar(n, s, l)
	case Null:
		if !s.NullOK {
			wrongKind(n, s, l)
		}
	}
}

func checkKeys(n *Node, s *Shape, l *diag.List) {
	for _, e := range n.Entries {
		k := findKey(s.Keys, e.Key.Text)
		if k == nil {
			k = unknownKey(n, e, s.Keys, l)
		}
		if k != nil {
			checkShape(e.Value, k.Shape, l)
		}
	}
	for _, k := range s.Keys {
		if k.Required && n.Get(k.Name) == nil {
			l.Errorf(CodeMissingKey, n.Span, "add `"+k.Name+": ...`: "+lowerFirst(k.Shape.Doc), "key %q is missing here", k.Name)
		}
	}
}

// unknownKey reports e and, where it is plain which key was meant, reads it as
// that key: what would follow from the slip is no mistake of its own.
func unknownKey(n *Node, e Entry, keys []Key, l *diag.List) *Key {
	text := e.Key.Text
	if word, rest := glued(text); e.Value.Kind == Null && findKey(keys, word) != nil {
		l.Errorf(CodeUnreadable, e.Key.Span, "write `"+word+": "+rest+"`, with a blank behind the colon", "a colon is missing after %q", word)
		if n.Get(word) != nil {
			return nil
		}
		e.Key.Text = word
		e.Value.Kind, e.Value.Text, e.Value.Span = Scalar, rest, e.Key.Span
		return findKey(keys, word)
	}
	help := keyHelp(text, keys)
	if e.Value.Kind == Null && !strings.HasPrefix(help, "did you mean") {
		help = "quote a text that has a comma: between braces a comma ends it; " + help
	}
	l.Errorf(CodeUnknownKey, e.Key.Span, help, "unknown key %q", text)
	near := diag.Nearest(text, keyNames(keys))
	if near == "" || n.Get(near) != nil {
		return nil
	}
	e.Key.Text = near
	return findKey(keys, near)
}

// glued splits a key that swallowed its value: `kind success` and `kind:success`.
func glued(text string) (word, rest string) {
	i := strings.IndexAny(text, " :")
	if i < 0 {
		return "", ""
	}
	return text[:i], strings.TrimLeft(text[i:], " :")
}

func findKey(keys []Key, name string) *Key {
	for i := range keys {
		if keys[i].Name == name {
			return &keys[i]
		}
	}
	return nil
}

func keyHelp(name string, keys []Key) string {
	names := keyNames(keys)
	if near := diag.Nearest(name, names); near != "" {
		return "did you mean \"" + near + "\"?"
	}
	return "keys here: " + strings.Join(names, ", ")
}

func keyNames(keys []Key) []string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Name)
	}
	return names
}

func checkNames(n *Node, s *Shape, l *diag.List) {
	for _, e := range n.Entries {
		if !declaredName.MatchString(e.Key.Text) {
			l.Errorf(CodeShape, e.Key.Span, "use letters, digits, _, - and . and begin with a letter", "%q is not a name", e.Key.Text)
			continue
		}
		checkShape(e.Value, s.Names, l)
	}
}

func checkScalar(n *Node, s *Shape, l *diag.List) {
	bad := func(want string) {
		l.Errorf(CodeShape, n.Span, "write "+want, "%q does not belong here", n.Text)
	}
	switch {
	case s.OneOf != nil:
		for _, w := range s.OneOf {
			if n.Text == w {
				return
			}
		}
		help := "one of: " + strings.Join(s.OneOf, ", ")
		if near := diag.Nearest(n.Text, s.OneOf); near != "" {
			help = "did you mean \"" + near + "\"? " + help
		}
		l.Errorf(CodeShape, n.Span, help, "%q is not one of the words allowed here", n.Text)
	case s.Scalar == "":
		wrongKind(n, s, l)
	case s.Scalar == BoolWord && n.Quoted && (n.Text == "true" || n.Text == "false"):
		l.Errorf(CodeShape, n.Span, "write "+n.Text+" without quotes", "%q in quotes is a text, not a truth value", n.Text)
	case s.Scalar == LabelWord && !n.Quoted && parses(n.Text, isFloat) && !parses(n.Text, isInt):
		l.Errorf(CodeShape, n.Span, "write it in quotes, \""+n.Text+"\", or as three numbers, such as 1.0.0", "YAML reads %s as a number, to which 1.10 is 1.1", n.Text)
	case s.Scalar == BoolWord && n.Text != "true" && n.Text != "false":
		bad("true or false")
	case s.Scalar == IntWord && !parses(n.Text, isInt):
		bad("a whole number")
	case s.Scalar == FloatWord && !parses(n.Text, isFloat):
		bad("a number")
	case s.Scalar == NameWord && n.Text != "*" && !declaredName.MatchString(n.Text):
		bad("a name: letters, digits, _, - and ., a letter first")
	}
}

func parses(text string, parse func(string) error) bool { return parse(text) == nil }

func isInt(text string) error {
	_, err := strconv.ParseInt(text, 10, 64)
	return err
}

func isFloat(text string) error {
	_, err := strconv.ParseFloat(text, 64)
	return err
}

func wrongKind(n *Node, s *Shape, l *diag.List) {
	var want []string
	if s.Scalar != "" {
		want = append(want, "a "+string(s.Scalar))
	}
	if s.OneOf != nil {
		want = append(want, strings.Join(s.OneOf, " or "))
	}
	if s.Keys != nil || s.Names != nil {
		want = append(want, "a map")
	}
	if s.Items != nil {
		want = append(want, "a list")
	}
	help := "write " + strings.Join(want, ", or ")
	if n.Kind == Null && n.Comment != "" {
		help += "; a # begins a comment, so quote a text that has one"
	}
	l.Errorf(CodeShape, n.Span, help, "%s does not belong here", n.Kind)
}

func lowerFirst(s string) string {
	if s == "" {
		return "it is required"
	}
	return strings.ToLower(s[:1]) + s[1:]
}
