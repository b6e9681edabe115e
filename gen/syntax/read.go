package syntax

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
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
)

// Limits keep a hostile file from costing more than its size.
const (
	MaxBytes = 4 << 20 // a spec of 10,000 rows has about 1 MiB
	maxDepth = 24      // the language needs 8
)

// unwritable are the characters that YAML can escape and that neither Go nor
// PostgreSQL accepts in a text: NUL, and the byte order mark.
const unwritable = "\x00\ufeff"

// Parse reads one spec and checks its shape. It returns nil when the file is
// not readable as a spec at all; every problem is added to l.
func Parse(path string, data []byte, l *diag.List) *File {
	r := reader{path: path, list: l}
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
	at := func(line, col int) diag.Span {
		return diag.Span{File: r.path, Start: diag.Pos{Line: line, Col: col}, End: diag.Pos{Line: line, Col: col + 1}}
	}
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
		indent := line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
		if j := bytes.IndexByte(indent, '\t'); j >= 0 && len(bytes.TrimSpace(line)) > 0 {
			return refuse(at(i+1, j+1), "indent with spaces", "a tab indents this line; YAML does not allow it")
		}
	}
	return true
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

// yamlError reports what the YAML library said, at the line that it names.
func (r *reader) yamlError(data []byte, err error) {
	line, msg := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if m := yamlLine.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
		msg = m[2]
	}
	lines := bytes.Split(data, []byte{'\n'})
	line = max(1, min(line, len(lines)))
	text := lines[line-1]
	start := len(text) - len(bytes.TrimLeft(text, " "))
	span := diag.Span{File: r.path, Start: diag.Pos{Line: line, Col: start + 1}, End: diag.Pos{Line: line, Col: max(start+2, utf8.RuneCount(text)+1)}}
	if errors.Is(err, io.EOF) {
		msg = "the file holds only comments"
	}
	r.list.Errorf(CodeUnreadable, span, "mend the YAML; a guard with brackets must be quoted", "%s", msg)
}

// node converts y. Anchors and aliases are refused: a table must read the
// same from top to bottom, and expansion could blow up.
func (r *reader) node(y *yaml.Node, depth int) *Node {
	n := &Node{Span: r.span(y), Text: y.Value, Comment: comment(y)}
	if depth > maxDepth {
		r.list.Errorf(CodeUnreadable, n.Span, "the language needs 8 levels", "nested deeper than %d levels", maxDepth)
		return n
	}
	if y.Kind == yaml.AliasNode || y.Anchor != "" {
		r.list.Errorf(CodeUnreadable, n.Span, "write the value out", "anchors and aliases are not part of the language")
		return n
	}
	if i := strings.IndexAny(n.Text+n.Comment, unwritable); i >= 0 {
		r.list.Errorf(CodeUnreadable, n.Span, "leave it out", "the text holds %+q, which no source file and no database takes", []rune((n.Text + n.Comment)[i:])[0])
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
		key, value := r.node(y.Content[i], depth+1), r.node(y.Content[i+1], depth+1)
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
