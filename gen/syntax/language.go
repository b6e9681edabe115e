package syntax

import "strings"

// Shape says what a node may be. The parser, the JSON Schema and the help
// texts all read the same shapes.
type Shape struct {
	// Doc is one sentence for the reader of the JSON Schema.
	Doc string
	// Exactly one of the following groups is set; a node may be any of the
	// kinds for which its shape has something.

	Keys   []Key    // a map with these keys
	Names  *Shape   // a map from chosen names to this shape
	Items  *Shape   // a list of this shape
	Scalar Word     // a scalar of this sort
	OneOf  []string // a scalar that is one of these words
	NullOK bool     // an explicit null, or nothing, is allowed too
}

// Key is one key of a map.
type Key struct {
	Name     string
	Required bool
	Shape    *Shape
}

// Word is the sort of a scalar.
type Word string

// The sorts of a scalar. Free scalars are judged by the lowering.
const (
	NameWord  Word = "name"
	TextWord  Word = "text"
	BoolWord  Word = "bool"
	IntWord   Word = "int"
	FloatWord Word = "number"
	FreeWord  Word = "value"
	GuardWord Word = "guard"
	LabelWord Word = "label" // a text that YAML must not read as a number
)

func word(w Word, doc string) *Shape        { return &Shape{Scalar: w, Doc: doc} }
func choice(doc string, w ...string) *Shape { return &Shape{OneOf: w, Doc: doc} }
func list(of *Shape, doc string) *Shape     { return &Shape{Items: of, Doc: doc} }
func named(of *Shape, doc string) *Shape    { return &Shape{Names: of, Doc: doc} }

func need(name string, s *Shape) Key { return Key{name, true, s} }
func may(name string, s *Shape) Key  { return Key{name, false, s} }

// Language returns the shape of a spec: every key of the language. It has no
// cycles.
func Language() *Shape {
	return &Shape{Doc: "One state machine: the table of a design document.", Keys: []Key{
		need("machine", word(NameWord, "Name of the machine, of its file and of its Go package.")),
		need("version", word(LabelWord, "Version of the table, for readers and for records.")),
		may("doc", word(TextWord, "One sentence: what the machine is the life of.")),
		may("strict", word(BoolWord, "A guard may read an optional name only where it is proven present.")),
		may("repeat", choice("Answer to an unkeyed event that already had its effect: reject (default) or success.", "reject", "success")),
		may("fatal", word(NameWord, "Event fired when a decided step could not be recorded.")),
		may("accept", named(&Shape{Doc: "The reason, or the reason for each name that the warning marks.", Scalar: TextWord, Names: word(TextWord, "The reason.")}, "Warnings that stay, by their code, each with the reason.")),
		may("id", named(word(TextWord, "Type of the identity."), "Identity of a record: one name and its type. Default {id: uuid}.")),
		may("sql", storageShape()),
		may("enums", named(list(word(NameWord, "A value."), ""), "Named lists of values.")),
		may("params", named(&Shape{Keys: []Key{need("type", typeShape()), need("default", literalShape()), may("doc", docShape())}}, "Configurable values with their defaults.")),
		may("actors", named(&Shape{NullOK: true, Keys: []Key{may("is", word(NameWord, "Record field that must equal the caller's id.")), may("doc", docShape())}}, "Who may fire events. `system` is reserved.")),
		may("fields", named(recordFieldShape(), "Fields of the record.")),
		may("unique", named(uniqueShape(), "Fields that no two records share.")),
		may("failures", named(failureShape(), "Failure classes with their retry policy.")),
		may("tables", named(tableShape(), "SQL tables that steps write in their transaction.")),
		need("states", named(stateShape(), "The states, in reading order.")),
		may("events", named(eventShape(), "The events and what they carry.")),
		may("effects", named(effectShape(), "Side effects: calls, logs, table rows, started machines.")),
		may("metrics", named(metricShape(), "Prometheus metrics.")),
		may("do", list(word(NameWord, "Effect or metric."), "Effects of every accepted row.")),
		need("transitions", list(rowShape(), "The transition table.")),
		may("invariants", named(invariantShape(), "Promises of the document, each with what enforces it.")),
	}}
}

func docShape() *Shape { return word(TextWord, "Explanation for readers; it becomes a comment.") }
func typeShape() *Shape {
	return word(TextWord, "[optional ]"+strings.Join(Types(), "|")+"|list<T>|ENUM")
}

// Types lists the types that are one word of the language.
func Types() []string {
	return []string{"string", "int", "bool", "time", "duration", "uuid", "json"}
}

// Deliveries lists the delivery classes.
func Deliveries() []string {
	return []string{"transaction", "idempotent", "keyed", "queryable", "at_most_once"}
}

// StateKinds lists the kinds of a state.
func StateKinds() []string {
	return []string{"initial", "operational", "snapshot", "success", "error", "terminal"}
}

func literalShape() *Shape {
	return &Shape{Doc: "A literal.", Scalar: FreeWord, NullOK: true, Items: word(FreeWord, "")}
}
func valueShape() *Shape {
	return &Shape{Doc: "literal, null, $name, $a + b or $a - b", Scalar: FreeWord, NullOK: true, Items: word(FreeWord, "")}
}
func valuesShape(doc string) *Shape { return named(valueShape(), doc) }
func guardsShape() *Shape {
	return list(word(GuardWord, "field operator value"), "Guards; all must hold.")
}
func actionsShape() *Shape {
	return list(word(NameWord, "Effect or metric."), "Effects and metrics, in order.")
}
func namesShape(doc string) *Shape {
	return &Shape{Doc: doc, Scalar: NameWord, Items: word(NameWord, "")}
}
func fireShape() *Shape {
	return &Shape{Doc: "EVENT or {EVENT: {field: value}}", Scalar: NameWord, Names: valuesShape("Bound fields.")}
}
func firesShape() *Shape {
	s := fireShape()
	s.Items = fireShape()
	return s
}

func storageShape() *Shape {
	return &Shape{Doc: "Names of the SQL objects.", Keys: []Key{
		may("table", word(NameWord, "Table of the records.")),
		may("state", word(NameWord, "Column of the state.")),
		may("history", word(NameWord, "Table of the history.")),
		may("partition", choice("Column that partitions the history.", "created_at")),
	}}
}

// fieldShape is the shape of a record field, an event field or a column: what
// all of them may say, and more.
func fieldShape(more ...Key) *Shape {
	keys := []Key{
		need("type", typeShape()),
		may("min", word(IntWord, "Smallest value, or length of a string.")),
		may("max", word(IntWord, "Largest value, or length of a string.")),
		may("unit", word(NameWord, "Unit of an int, part of its type.")),
		may("doc", docShape()),
	}
	return &Shape{Doc: "A type, or a map with the type and more.", Scalar: TextWord, Keys: append(keys, more...)}
}

func recordFieldShape() *Shape {
	return fieldShape(
		may("default", literalShape()),
		may("immutable", word(BoolWord, "Write-once.")),
		may("derive", word(TextWord, "Text with {field} holes, computed.")))
}

func columnShape() *Shape {
	return fieldShape(
		may("default", literalShape()),
		may("immutable", word(BoolWord, "Write-once.")),
		may("ref", word(TextWord, "machine.table that this column refers to.")),
		may("where", valuesShape("Column values that the referred row must have.")),
		may("on_delete", choice("What deleting the referred row does: refuse (default), or cascade.", "refuse", "cascade")))
}

func uniqueShape() *Shape {
	return &Shape{Doc: "Fields that are unique together.", Items: word(NameWord, ""), Keys: []Key{
		need("fields", list(word(NameWord, ""), "The fields.")),
		may("while", choice("Only records that are not terminal count.", "active")),
		may("doc", docShape()),
	}}
}

func failureShape() *Shape {
	return &Shape{Doc: "A failure class.", Keys: []Key{
		need("retry", &Shape{Doc: "never, or the policy.", OneOf: []string{"never"}, Keys: []Key{
			need("first", word(TextWord, "First delay.")),
			may("factor", word(FloatWord, "Growth; default 2.")),
			may("max", word(TextWord, "Longest delay; default: 5m.")),
			may("jitter", word(FloatWord, "Share by which a delay is spread, 0 to 1; default 0.")),
			need("attempts", word(IntWord, "Attempts in all.")),
		}}),
		may("status", word(IntWord, "HTTP status of a refusal of this class.")),
		may("doc", docShape()),
	}}
}

func tableShape() *Shape {
	return &Shape{Doc: "A table.", Keys: []Key{
		need("key", list(word(NameWord, ""), "Primary key.")),
		need("columns", named(columnShape(), "The columns.")),
		may("doc", docShape()),
	}}
}

func stateShape() *Shape {
	return &Shape{Doc: "A state.", Keys: []Key{
		need("kind", choice("What the state is for.", StateKinds()...)),
		may("terminal", word(BoolWord, "No row with a target leaves it. Default: kind is terminal.")),
		may("recoverable", word(BoolWord, "Error recovery is meaningful here. Default: not terminal and kind is not success.")),
		may("entry", actionsShape()),
		may("exit", actionsShape()),
		may("holds", guardsShape()),
		may("timeout", &Shape{Doc: "The state's deadline.", Keys: []Key{
			may("after", word(FreeWord, "Duration from entry: literal, $param or $field.")),
			may("at", word(NameWord, "Record field of type time.")),
			need("fire", fireShape()),
		}}),
		may("doc", docShape()),
	}}
}

func lockShape() *Shape {
	return &Shape{Doc: "Lock around the attempts of an effect, which the engine takes; of an event: documentation.", Keys: []Key{
		need("key", word(TextWord, "Text with {field} holes.")),
		need("ttl", word(TextWord, "Duration.")),
	}}
}

func eventShape() *Shape {
	return &Shape{Doc: "An event.", NullOK: true, Keys: []Key{
		may("by", namesShape("Actors that may fire it.")),
		may("source", choice("Where it comes from; derived if not given.", "external", "internal", "effect", "orchestrator")),
		may("fields", named(fieldShape(), "Facts that are not stored.")),
		may("writes", list(word(TextWord, "field, or `optional field`"), "Record fields that acceptance stores.")),
		may("internal", word(BoolWord, "No public method: only the machine fires it.")),
		may("key", word(TextWord, "Idempotency key: text with {field} holes.")),
		may("lock", lockShape()),
		may("doc", docShape()),
	}}
}

func payloadShape(doc string) *Shape {
	s := valuesShape(doc)
	s.Items = word(NameWord, "")
	return s
}

func effectShape() *Shape {
	return &Shape{Doc: "An effect: exactly one of delivery, log, upsert, update, delete, start.", Keys: []Key{
		may("delivery", choice("How often it may happen.", Deliveries()...)),
		may("log", choice("Level of a log line.", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")),
		may("upsert", word(TextWord, "[machine.]table whose row is inserted or updated.")),
		may("update", word(TextWord, "[machine.]table whose row is updated.")),
		may("delete", word(TextWord, "[machine.]table whose row is deleted.")),
		may("start", word(NameWord, "Machine of which a record is created.")),
		may("to", word(NameWord, "Destination: its effects run in order, one at a time.")),
		may("with", payloadShape("Payload.")),
		may("row", valuesShape("Columns of the row.")),
		may("returns", firesShape()),
		may("fails", fireShape()),
		may("lost", fireShape()),
		may("cleanup", word(NameWord, "Effect that runs before a repeat.")),
		may("retry", word(NameWord, "Failure class with the retry policy.")),
		may("lock", lockShape()),
		may("doc", docShape()),
	}}
}

func metricShape() *Shape {
	return &Shape{Doc: "A metric.", Keys: []Key{
		need("type", choice("", "counter", "gauge", "histogram")),
		may("labels", payloadShape("Labels: names, or a map to values.")),
		may("value", valueShape()),
		may("buckets", list(word(FloatWord, ""), "Upper bounds of the histogram.")),
		may("when", guardsShape()),
		may("of", choice("Measured by the engine or the service instead of a row.", "timeout", "state_duration", "fatal", "service")),
		may("doc", docShape()),
	}}
}

func rowShape() *Shape {
	return &Shape{Doc: "A row of the table.", Keys: []Key{
		need("name", word(NameWord, "Name of the transition.")),
		need("from", namesShape("State, list of states, \"*\" (all that are not terminal) or none (creation).")),
		need("on", namesShape("Event, or list of events.")),
		may("by", namesShape("Narrows the event's actors.")),
		may("when", guardsShape()),
		may("otherwise", word(BoolWord, "Taken when no other row of the state and event holds.")),
		may("to", word(NameWord, "Target state; without it the row is internal.")),
		may("reject", word(NameWord, "Failure class of a refusal.")),
		may("set", valuesShape("Assignments; right sides read the old record and the event.")),
		may("do", actionsShape()),
		may("raise", fireShape()),
		may("priority", word(IntWord, "Larger wins; default 10, 0 for \"*\".")),
		may("doc", docShape()),
	}}
}

func invariantShape() *Shape {
	return &Shape{Doc: "A promise: exactly one of holds, terminal, immutable, unique, never, always, test.", Keys: []Key{
		may("doc", docShape()),
		may("holds", word(NameWord, "State whose holds enforce it.")),
		may("terminal", word(NameWord, "State that no row leaves.")),
		may("immutable", namesShape("Write-once fields.")),
		may("unique", word(NameWord, "Unique constraint.")),
		may("never", &Shape{Doc: "Edges that must not exist.", Keys: []Key{
			need("from", word(NameWord, "State.")),
			need("to", namesShape("States.")),
			may("unless", guardsShape()),
		}}),
		may("always", guardsShape()),
		may("test", word(NameWord, "Go test that proves it outside the generated package.")),
	}}
}
