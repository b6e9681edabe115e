package syntax

import "github.com/fsmgen/fsmgen/gen/diag"

// Kind is the YAML kind of a node.
type Kind uint8

// The kinds of a node.
const (
	Scalar Kind = iota + 1
	Null        // an explicit null, ~ or nothing at all
	Map
	List
)

// String names k as a person would.
func (k Kind) String() string {
	return [...]string{"nothing", "a value", "nothing", "a map", "a list"}[k]
}

// Node is one node of a spec.
type Node struct {
	Kind    Kind
	Text    string // of a Scalar or Null, as YAML reads it
	Quoted  bool   // the scalar was written in quotes or as a block
	Entries []Entry
	Items   []*Node
	Comment string // the YAML comment at the node, without #
	Span    diag.Span
}

// Entry is one key of a Map, in spec order.
type Entry struct {
	Key   *Node
	Value *Node
}

// Get returns the value of key, or nil.
func (n *Node) Get(key string) *Node {
	if n == nil {
		return nil
	}
	for _, e := range n.Entries {
		if e.Key.Text == key {
			return e.Value
		}
	}
	return nil
}

// TextOf returns the scalar text of key, or "".
func (n *Node) TextOf(key string) string {
	if v := n.Get(key); v != nil && v.Kind == Scalar {
		return v.Text
	}
	return ""
}

// Each returns the items of a list, or the node itself where one value is
// written for a list of one.
func (n *Node) Each() []*Node {
	switch {
	case n == nil:
		return nil
	case n.Kind == List:
		return n.Items
	default:
		return []*Node{n}
	}
}

// TextSpan returns the place of the scalar's text, inside its quotes.
func (n *Node) TextSpan() diag.Span {
	s := n.Span
	if n.Quoted && s.Start.Line == s.End.Line {
		s.Start.Col++
		s.End.Col--
	}
	return s
}

// File is one parsed spec.
type File struct {
	Path string
	Root *Node
}
