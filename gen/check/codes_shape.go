package check

import "github.com/fsmgen/fsmgen/gen/ir"

func shapeRules() []Rule {
	return []Rule{
		fails("FSM001", "the file is not readable",
			"A spec is one UTF-8 YAML document whose top is a map. Empty, binary and oversized files, tabs, anchors, aliases and very deep nesting are refused before anything else is looked at.",
			"machine: order\nversion: 1.0.0\n"),
		fails("FSM002", "unknown key",
			"Every key of a spec is one of the language; a misspelt key would otherwise be a rule that silently does not exist.",
			"states:\n  paid: {kind: success, terminal: true}   # not: terminl"),
		fails("FSM003", "undeclared name",
			"States, events, fields, params, enums, actors, effects, failure classes, tables and machines are declared before rows use them. Document 001 asks the same of `from_state` and `to_state`.",
			"states:\n  paid: {kind: success, terminal: true}\ntransitions:\n  - {name: pay, from: created, on: pay, to: paid}"),
		fails("FSM004", "duplicate key or name",
			"Two declarations of one name, two rows of one name, or one key written twice: one of them would be lost. Document 001 demands unique transition names.",
			"transitions:\n  - {name: cancel_created, from: created, on: cancel, to: gone}\n  - {name: cancel_paid, from: paid, on: cancel, to: gone}"),
		fails("FSM005", "missing key",
			"A required key is not written, or nothing in the machine can create a record: a state of kind initial or a row `from: none` is needed.",
			"transitions:\n  - {name: pay, from: created, on: pay, to: paid}   # name, from and on are required"),
		fails("FSM006", "wrong shape or value",
			"The key is known, but its value has the wrong form: a list where a map belongs, a kind that is none, keys that exclude each other.",
			"states:\n  created: {kind: initial}   # initial, operational, snapshot, success, error or terminal"),
		fails("FSM007", "file and machine names differ",
			"File name, machine name and package name are one word, and no two machines share it.",
			"# order.yaml\nmachine: order"),
		fails("FSM008", "type mismatch in a value",
			"A value in `set`, `with`, `row`, a default or a bound payload has another type or unit than the name that takes it.",
			"fields:\n  attempts: {type: int, default: 0}\ntransitions:\n  - {name: try, from: created, on: try, set: {attempts: $attempts + 1}}"),
		fails("FSM009", "a name is not known at this place",
			"The name exists, but not here: `$error` is known in `fails`, `$actor` where the machine has actors, params and `$now` where a step runs and not in `holds`, which the database checks without them.",
			"effects:\n  call: {delivery: idempotent, returns: DONE, fails: {FAILED: {reason: $error}}}"),
		fails("FSM094", "hidden character",
			"A text, a name, a comment or the path of the file holds a character that people do not see: a control character such as ESC or a bare carriage return, or one that turns the direction of what follows. SQL, Go, Markdown and terminals read it as something else than a reviewer does.",
			"states:\n  paid: {kind: success, terminal: true, doc: \"paid, on time\"}"),
	}
}

func limitRules() []Rule {
	return []Rule{
		fails(ir.CodeTooLarge, "machine that is too large",
			"A spec that is small as a text can mean millions of rows, values or cases. What one machine may have is limited, in counted work and not in time, so that the answer is the same everywhere: 20,000 rows after expansion, 500 values in a list and 5,000 in all, 20,000 instructions of patterns, 200 million evaluations of clauses.",
			"enums:\n  country: [at, ch, de]\ntransitions:\n  - {name: ship, from: open, on: ship, when: [home == de], to: shipped}"),
	}
}

func nameRules() []Rule {
	return []Rule{
		warns("FSM010", "unused name",
			"An enum, param, actor, field, failure class, effect, metric or table that nothing refers to is a rest, or a row is missing. Enum values are a vocabulary and event fields go to the history: both may stay unread.",
			"params:\n  limit: {type: int, default: 3}\ntransitions:\n  - {name: retry, from: failed, on: retry, when: [attempts < $limit], to: created}"),
		fails("FSM011", "two names are one in Go",
			"Names are turned into Go identifiers: states, events and enums of one machine share the package, fields and event methods share the record. Two declarations that give one identifier can't both be generated.",
			"states:\n  stopped: {kind: operational}\nevents:\n  stop: {}   # not: stopped, whose payload type would be Stopped, too"),
		fails("FSM012", "two names are one in SQL",
			"Fields become columns beside those that every record has (state, version, last_event, entered_at, created_at, updated_at), and all machines share one database schema.",
			"fields:\n  document_version: int   # not: version"),
		fails("FSM013", "name that Go reserves",
			"The generated package has the machine's name: a lower case identifier that is neither a keyword nor a package that its users import. A state is not named like a keyword either, in any case.",
			"machine: order   # not: type, time, Order\nstates:\n  selected: {kind: operational}   # not: Select"),
		fails("FSM014", "reserved word of SQL",
			"A column, table or state named like a reserved word of PostgreSQL or SQLite would need quotes in every statement that people write by hand.",
			"fields:\n  owner_id: int   # not: user"),
		fails("FSM015", "one name means two things",
			"A clause reads record fields, event fields, params and the specials by bare name. No event field may have the name of a record field, a param or a special.",
			"events:\n  settle: {fields: {received: int}}   # not: amount, a field of the record"),
		warns("FSM016", "no row handles an event",
			"An event that no row is `on` would always be refused.",
			"transitions:\n  - {name: cancel, from: created, on: cancel, to: gone}"),
		warns("FSM017", "nothing fires an internal event",
			"An internal event has no public method: a raise, a timeout or an effect must fire it.",
			"transitions:\n  - {name: pay, from: created, on: pay, to: paid, raise: STORE}"),
		warns("FSM018", "field is read but never written",
			"An optional field that nothing writes is always absent, so every clause that reads it is false.",
			"events:\n  check: {writes: [verdict]}"),
	}
}

func contractRules() []Rule {
	return []Rule{
		fails("FSM020", "no record is created in an initial state",
			"Document 001, rule 1: the initial state exists. Here: records are created in every state of kind initial. A machine without a row `from: none` creates them in the first one.",
			"transitions:\n  - {name: open, from: none, on: open, to: draft}"),
		warns("FSM021", "no success state",
			"Document 001, rule 2: success states exist. A machine may end well in a terminal state that is no success (a record deleted as asked); a warning remains where every end is an error.",
			"states:\n  done: {kind: success, terminal: true}"),
		warns("FSM022", "no terminal state",
			"Document 001, rule 3: terminal states exist. A record may legitimately live for ever (a published version that can be withdrawn and restored), so this is a warning.",
			"states:\n  archived: {kind: terminal}"),
		warns("FSM023", "no error state",
			"Document 001, rule 4: error states exist. It matters where an effect can fail: something must tell operators that the record needs them. A machine without such effects needs none.",
			"states:\n  failed: {kind: error, terminal: true}"),
		fails("FSM024", "orphan state",
			"Document 001, rule 5: every state has at least one row that enters or leaves it.",
			"transitions:\n  - {name: suspend, from: active, on: suspend, to: suspended}"),
		fails("FSM025", "row out of a terminal state",
			"Document 001, rule 6: no transition leaves a terminal state. Rows without `to` may still act there: a late deposit must be refunded.",
			"transitions:\n  - {name: refund_late, from: cancelled, on: deposit, do: [refund]}   # no `to`"),
		fails("FSM026", "unreachable state",
			"No path of rows leads from a creation row to the state. Guards are not considered: a path that exists only on paper counts.",
			"transitions:\n  - {name: review, from: draft, on: submit, to: review}"),
		fails("FSM027", "dead end",
			"A state that no row leaves is where records end: it says so with `terminal: true`, or a row is missing and records are stuck.",
			"states:\n  shipped: {kind: success, terminal: true}"),
	}
}

func rowRules() []Rule {
	return []Rule{
		fails("FSM030", "overlapping rows",
			"Two rows of one state, event, actor and priority can both hold, so the order of the file would decide. The message names values that satisfy both.",
			"when: [amount >= 100]   # and, in the other row, amount < 100"),
		warns("FSM031", "row is never chosen",
			"In every case the row loses: its clauses contradict each other or the holds of its state, or other rows always win. Such a row is kept and reported, for the document may mean something by it.",
			"transitions:\n  - {name: late, from: open, on: pay, otherwise: true, to: overdue}"),
		warns("FSM032", "uncovered outcome",
			"For some values no row of the (state, event, actor) holds. The caller gets guard_failed. Where that is meant, a row with `reject` gives a class and a status; where it is not, a row is missing.",
			"transitions:\n  - {name: refuse, from: draft, on: publish, otherwise: true, reject: denied}"),
		warns("FSM033", "clause never holds",
			"No value that the type and the bounds allow satisfies the clause, for example `retries > 3` on an int with `max: 3`.",
			"when: [retries >= 3]"),
		fails("FSM034", "optional name in a strict machine",
			"With `strict: true` a guard reads an optional name only where another clause of the row, or the holds of its state, prove it present. An absent operand makes a clause false, which a reader may overlook.",
			"when: [discount exists true, discount > 0]"),
		warns("FSM035", "too many cases to decide",
			"A rule asks whether some record and event show a fault: rows that overlap, a raise that is refused, a promise that is broken. It tries one value of each class that the clauses can tell apart. Where these are too many, or a sum of two fields has no finite classes, it tries a sample. A sample that shows nothing proves nothing, so the rule says so.",
			"transitions:\n  - {name: large, from: open, on: pay, when: [amount > $limit], priority: 20, to: review}\n  - {name: pay,   from: open, on: pay, otherwise: true, to: paid}"),
		warns("FSM036", "text that is the name of a field",
			"Without $ a word is a text. `who == owner` compares with the word owner, not with the field. Where a field or param of that name and type could stand, the rule asks. A text in quotes, or in the list of `in`, is what it says.",
			"when: [who == $owner]\nset: {reason: $note}   # the field; the text would be \"note\""),
		fails("FSM037", "default outside the bounds of its field",
			"A record is created with the defaults, and an event takes them for what is left out: both would be refused.",
			"fields:\n  tries: {type: int, default: 0, min: 0, max: 3}"),
		fails("FSM038", "retry by a class that never retries",
			"The `retry` of an effect says how often and when it is repeated. A class with `retry: never` is one of rejections.",
			"failures:\n  transient: {retry: {first: 1s, attempts: 5}}\neffects:\n  send: {delivery: keyed, to: mail, retry: transient}"),
		warns("FSM039", "invariant whose test does not exist",
			"An invariant with `test: NAME` is kept by a Go test alone. `fsmgen check` and `fsmgen generate` look for it in the test files of the module in which the specs stand.",
			"invariants:\n  bank_is_asked: {doc: the bank confirms each payment, test: TestBankConfirms}   # func TestBankConfirms(t *testing.T)"),
	}
}
