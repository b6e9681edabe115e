package syntax

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// The codes of this package.
const (
	CodeUnreadable = diag.Code("FSM001")
	CodeUnknownKey = diag.Code("FSM002")
	CodeDuplicate  = diag.Code("FSM004")
	CodeMissingKey = diag.Code("FSM005")
	CodeShape      = diag.Code("FSM006")
	CodeHidden     = diag.Code("FSM094")
)

// Limits keep a hostile file from costing more than its size.
const (
	MaxBytes = 4 << 20 // a spec of 10,000 rows has about 1 MiB
	maxDepth = 24      // the language needs 8
)

// hidden reports whether r is a character that people don't see and that changes
// what they or programs read: a control character, such as NUL or ESC, a line break
// that is none for some readers, or one that turns the direction of the text. Neither
// SQL, Go nor Markdown is safe from all of them. The joiners of some scripts are text.
func hidden(r rune) bool {
	switch r {
	case '\n', '\t', '\u200c', '\u200d':
		return false
	case '\u2028', '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Cf, r)
}

// Parse reads one spec and checks its shape. It returns nil when the file is
// not readable as a spec at all; every problem is added to l.
func Parse(path string, data []byte, l *diag.List) *File {
	r := reader{path: path, list: l}
	if i := strings.IndexFunc(path, func(c rune) bool { return c == '\n' || c == '\t' || hidden(c) }); i >= 0 {
		l.Errorf(CodeHidden, diag.Span{File: path, Start: diag.Pos{Line: 1, Col: 1}, End: diag.Pos{Line: 1, Col: 2}},
			"rename it", "the path of the file holds the hidden character %U", []rune(path[i:])[0])
		return nil
	}
	if !r.acceptable(data) {
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	if err := dec.Decode(&doc); err != nil {
		r.yamlError(data, err)
		return nil
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			r.yamlError(data, err)
		} else {
			l.Errorf(CodeUnreadable, r.span(&second), "write each machine to a file of its own", "a second YAML document begins here")
		}
		return nil
	}
	before := l.Len()
	root := r.node(doc.Content[0], 0)
	if l.Len() > before {
		return nil
	}
	if root.Kind != Map {
		l.Errorf(CodeUnreadable, root.Span, "begin with the line `machine: NAME`", "a spec is a map, not %s", root.Kind)
		return nil
	}
	checkShape(root, Language(), l)
	return &File{Path: path, Root: root}
}

type reader struct {
	path string
	list *diag.List
}

// acceptable refuses what the YAML library would misread or choke on.
func (r *reader) acceptable(data []byte) bool {
	at := func(line, col int) diag.Span { return r.at(line, col, 1) }
	refuse := func(span diag.Span, help, format string, args ...any) bool {
		r.list.Errorf(CodeUnreadable, span, help, format, args...)
		return false
	}
	switch {
	case len(bytes.TrimSpace(data)) == 0:
		return refuse(at(1, 1), "begin with the line `machine: NAME`, or run `fsmgen init`", "the file is empty")
	case len(data) > MaxBytes:
		return refuse(at(1, 1), "split the machine", "the file has %d bytes; at most %d are read", len(data), MaxBytes)
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}), bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return refuse(at(1, 1), "save the file as UTF-8", "the file is UTF-16")
	}
	for i, line := range bytes.Split(data, []byte{'\n'}) {
		if j := bytes.IndexByte(line, 0); j >= 0 {
			return refuse(at(i+1, utf8.RuneCount(line[:j])+1), "pass the YAML file of a machine", "the file is binary: it has a NUL byte here")
		}
		if !utf8.Valid(line) {
			return refuse(at(i+1, invalidColumn(line)), "save the file as UTF-8", "the file is not UTF-8")
		}
		if j := bytes.IndexFunc(bytes.TrimSuffix(line, []byte{'\r'}), isControl); j >= 0 {
			return refuse(at(i+1, utf8.RuneCount(line[:j])+1), "remove it, or write it as an escape in double quotes", "an invisible control character stands here")
		}
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t\u00a0"))]
		if j := bytes.IndexRune(indent, '\u00a0'); j >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return refuse(at(i+1, utf8.RuneCount(indent[:j])+1), "indent with spaces", "a no-break space indents this line; YAML takes it for text")
		}
		if j := bytes.IndexByte(indent, '\t'); j >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return refuse(at(i+1, j+1), "indent with spaces", "a tab indents this line; YAML does not allow it")
		}
	}
	return true
}

// isControl reports whether YAML allows r in no text. Carriage returns are left
// to the library.
func isControl(r rune) bool {
	return r < ' ' && r != '\t' && r != '\r' || r >= 0x7f && r < 0xa0 && r != 0x85
}

func invalidColumn(line []byte) int {
	col := 1
	for len(line) > 0 {
		r, n := utf8.DecodeRune(line)
		if r == utf8.RuneError && n == 1 {
			break
		}
		line, col = line[n:], col+1
	}
	return col
}

var yamlLine = regexp.MustCompile(`line (\d+): (.*)`)

// yamlError reports why the YAML library could not read data: what is wrong as
// far as findMistake sees it, else what the library said at the line that it
// names.
func (r *reader) yamlError(data []byte, err error) {
	lines := strings.Split(string(data), "\n")
	if errors.Is(err, io.EOF) {
		r.list.Errorf(CodeUnreadable, r.at(1, 1, utf8.RuneCountInString(lines[0])), "begin with the line `machine: NAME`", "the file holds only comments")
		return
	}
	if m := findMistake(lines); m != nil {
		r.list.Errorf(CodeUnreadable, r.at(m.line, m.col, m.width), m.help, "%s", m.message)
		return
	}
	line, msg := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = m[2]
	}
	line = max(1, min(line, len(lines)))
	text := strings.TrimLeft(lines[line-1], " ")
	indent := len(lines[line-1]) - len(text)
	help := "compare indentation, colons and quotes of this line and the one above"
	if strings.Contains(msg, "escape") {
		help = "write \\\\ for a backslash, or single quotes around the text"
	}
	r.list.Errorf(CodeUnreadable, r.at(line, indent+1, utf8.RuneCountInString(text)), help, "the YAML can't be read from here: %s", msg)
}

// at is a span of one line.
func (r *reader) at(line, col, width int) diag.Span {
	return diag.Span{File: r.path, Start: diag.Pos{Line: line, Col: col}, End: diag.Pos{Line: line, Col: col + max(1, width)}}
}

// node converts y. Anchors and aliases are refused: a table must read the
// same from top to bottom, and expansion could blow up.
func (r *reader) node(y *yaml.Node, depth int) *Node {
	n := &Node{Span: r.span(y), Text: y.Value, Comment: comment(y)}
	if depth > maxDepth {
		r.list.Errorf(CodeUnreadable, n.Span, "the language needs 8 levels", "nested deeper than %d levels", maxDepth)
		return n
	}
	if y.Tag == "!!merge" {
		r.list.Errorf(CodeUnreadable, n.Span, "write the keys out", "merge keys are not part of the language")
		return n
	}
	if y.Style&yaml.TaggedStyle != 0 {
		r.list.Errorf(CodeUnreadable, n.Span, quoteIt+" if ! begins a text", "tags such as %s are not part of the language", y.Tag)
		return n
	}
	if y.Kind == yaml.AliasNode || y.Anchor != "" {
		r.list.Errorf(CodeUnreadable, n.Span, "write the value out", "anchors and aliases are not part of the language")
		return n
	}
	if i := strings.IndexFunc(n.Text+n.Comment, hidden); i >= 0 {
		r.list.Errorf(CodeHidden, n.Span, "leave it out, or write what it stands for in letters", "the text holds the hidden character %U", []rune((n.Text + n.Comment)[i:])[0])
		return n
	}
	switch y.Kind {
	case yaml.MappingNode:
		n.Kind = Map
		r.entries(n, y, depth)
	case yaml.SequenceNode:
		n.Kind = List
		for _, c := range y.Content {
			n.Items = append(n.Items, r.node(c, depth+1))
		}
	default:
		n.Kind = Scalar
		n.Quoted = y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
		if y.Tag == "!!null" && !n.Quoted {
			n.Kind = Null
		}
	}
	return n
}

func (r *reader) entries(n *Node, y *yaml.Node, depth int) {
	seen := map[string]diag.Span{}
	for i := 0; i+1 < len(y.Content); i += 2 {
		before := r.list.Len()
		key := r.node(y.Content[i], depth+1)
		if r.list.Len() > before {
			continue
		}
		value := r.node(y.Content[i+1], depth+1)
		if key.Kind != Scalar {
			r.list.Errorf(CodeShape, key.Span, "write a name before the colon", "a key is a name, not %s", key.Kind)
			continue
		}
		if first, dup := seen[key.Text]; dup {
			r.list.Errorf(CodeDuplicate, key.Span, "remove one of the two, or give it another name",
				"%q is written twice; first at %d:%d", key.Text, first.Start.Line, first.Start.Col)
			continue
		}
		seen[key.Text] = key.Span
		if key.Comment == "" {
			key.Comment = value.Comment
		}
		if value.Kind == Null && value.Comment == "" {
			value.Comment = y.Content[i].LineComment
		}
		n.Entries = append(n.Entries, Entry{key, value})
	}
}

// span covers the node's own text; of a map or list it covers the first
// character only.
func (r *reader) span(y *yaml.Node) diag.Span {
	start := diag.Pos{Line: max(1, y.Line), Col: max(1, y.Column)}
	end := diag.Pos{Line: start.Line, Col: start.Col + 1}
	if y.Kind == yaml.ScalarNode {
		width := utf8.RuneCountInString(y.Value)
		if y.Style&(yaml.DoubleQuotedStyle|yaml.SingleQuotedStyle) != 0 {
			width += 2
		}
		if i := strings.IndexByte(y.Value, '\n'); i >= 0 {
			width = utf8.RuneCountInString(y.Value[:i])
		}
		end.Col = start.Col + max(1, width)
	}
	return diag.Span{File: r.path, Start: start, End: end}
}

// comment returns the text of the comment above the node, or else of the one
// behind it.
func comment(y *yaml.Node) string {
	text := y.HeadComment
	if text == "" {
		text = y.LineComment
	}
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, strings.TrimSpace(strings.TrimLeft(strings.TrimSpace(line), "#")))
	}
	return strings.Join(out, "\n")
}
