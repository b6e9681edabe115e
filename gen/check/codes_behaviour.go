package check

func firedRules() []Rule {
	return []Rule{
		fails("FSM040", "timeout that its state never takes",
			"A deadline whose event is refused is consumed, logged and counted; the record stays where it is, perhaps for ever.",
			"transitions:\n  - {name: expire, from: waiting, on: expire, to: expired}"),
		warns("FSM041", "timeout that may be refused",
			"Some record of the state refuses the event of its deadline. The message names such a record.",
			"transitions:\n  - {name: expire,   from: waiting, on: expire, when: [tries >= 3], to: expired}\n  - {name: ask_again, from: waiting, on: expire, when: [tries < 3], to: waiting}"),
		fails("FSM042", "event fired without its payload",
			"A timeout, a raise, a failure and the fatal event have no caller who could add facts: every required field is bound.",
			"timeout: {after: 10s, fire: {FAILED: {reason: timeout}}}"),
		fails("FSM043", "system may not fire the event",
			"Timeouts, raises, answers of effects and started machines act as the actor `system`.",
			"events:\n  expire: {by: system}"),
		warns("FSM044", "record without a deadline",
			"The deadline follows a field that some record of the state lacks: that record would wait for ever.",
			"states:\n  waiting: {kind: operational, holds: [due_at exists true], timeout: {at: due_at, fire: expire}}"),
		fails("FSM045", "timeout in a terminal state",
			"Nothing leaves a terminal state, so there is nothing to wait for.",
			"states:\n  done: {kind: success, terminal: true}"),
		warns("FSM046", "action runs twice in a step",
			"A step runs what its row, the states that it leaves and enters, and the machine's `do` list. What stands in two of them counts or happens twice.",
			"states:\n  paid: {kind: success, terminal: true, entry: [receipt]}\ntransitions:\n  - {name: pay, from: open, on: pay, to: paid}"),
		fails("FSM047", "circular raise",
			"A raise runs further steps in the same call. Their number must be known, so no raise may lead back to its row.",
			"transitions:\n  - {name: a, from: one, on: GO,   to: two, raise: NEXT}\n  - {name: b, from: two, on: NEXT, to: three}"),
		fails("FSM048", "raise that may be refused",
			"If the raised event is refused, the whole call is. The message names a record for which that happens.",
			"transitions:\n  - {name: pay,  from: created,  on: pay,  to: paid, raise: SHIP}\n  - {name: ship, from: paid, on: SHIP, to: shipped}"),
		fails("FSM049", "raise in a terminal state",
			"A record that has ended raises nothing: what remains to be done belongs to the row that ends it.",
			"transitions:\n  - {name: finish, from: open, on: finish, to: done, do: [notify]}"),
	}
}

func effectRules() []Rule {
	return []Rule{
		fails("FSM050", "retry of what must not repeat",
			"An at_most_once effect runs at most once, and one inside the transaction ends with it. Neither has a retry.",
			"effects:\n  send: {delivery: keyed, to: mail, retry: transient}"),
		fails("FSM051", "lost outcome goes unnoticed",
			"After a crash it is unknown whether an at_most_once effect ran. `lost` names the event that tells the machine.",
			"effects:\n  extract: {delivery: at_most_once, returns: DONE, fails: FAILED, lost: LOST}"),
		fails("FSM052", "effect that is never lost",
			"Recovery repeats idempotent and keyed effects. The outcome of an at_most_once effect is lost when its worker dies, that of a queryable one when no query can tell.",
			"effects:\n  extract: {delivery: at_most_once, returns: DONE, lost: LOST}"),
		fails("FSM053", "queryable work without an answer",
			"When recovery asks and hears \"already done\", work must answer with an event. A queryable message, which answers nothing, is simply done.",
			"effects:\n  create: {delivery: queryable, returns: READY, fails: FAILED}"),
		fails("FSM054", "cleanup that never runs",
			"A cleanup runs before a repeat and before `fails`. An effect that does neither has no use for it.",
			"effects:\n  create: {delivery: idempotent, cleanup: destroy, returns: READY, fails: FAILED}"),
		fails("FSM055", "answer without a row",
			"Work answers in the state that its row entered. Each event that it can answer has a row there.",
			"transitions:\n  - {name: done,   from: working, on: DONE,   to: finished}\n  - {name: failed, from: working, on: FAILED, to: broken}"),
		warns("FSM056", "answer that may be refused",
			"Some record of the state refuses the answer of its work; the answer is lost, and the record waits for its timeout. The message names such a record.",
			"transitions:\n  - {name: retry,   from: working, on: FAILED, when: [tries < 3],  to: waiting}\n  - {name: give_up, from: working, on: FAILED, when: [tries >= 3], to: broken}"),
		fails("FSM057", "answer from inside the transaction",
			"A transaction effect is part of its step: its error refuses the step, its success is the step. It has no later answer.",
			"effects:\n  book: {delivery: transaction, with: [amount]}"),
		fails("FSM058", "cleanup that can't repeat",
			"A cleanup may run any number of times: it is an idempotent effect without answers or a cleanup of its own.",
			"effects:\n  destroy: {delivery: idempotent, with: [device]}"),
		warns("FSM059", "fatal event is refused",
			"The fatal event is fired when a decided step could not be recorded. A state that refuses it leaves the record where it was.",
			"transitions:\n  - {name: fatal, from: \"*\", on: FATAL, to: failed}"),
	}
}

func orderRules() []Rule {
	return []Rule{
		warns("FSM063", "work waits behind a dead letter",
			"Effects of one record with the same destination run in order, and one that failed for good, without `fails`, blocks those behind it until an operator decides. A state that waits for such work, and has no timeout, waits as long.",
			"effects:\n  enable:  {delivery: idempotent, to: settings}\n  publish: {delivery: keyed, to: publisher, returns: DONE, fails: FAILED}"),
		warns("FSM064", "independent effects in one order",
			"Effects of one record with the same destination run in order, and a dead letter blocks those behind it. Payments, and messages for different actors, must not wait for each other. An effect moves money if it is keyed, queryable or at_most_once and carries an amount whose unit is one of money; it is for an actor if it carries the field that the actor's `is` names.",
			"effects:\n  pay_out:        {delivery: queryable, to: payouts, with: [amount_nano]}\n  return_deposit: {delivery: queryable, to: returns, with: [deposit_nano]}"),
		warns("FSM065", "deadline that others may fire earlier",
			"The event of a deadline is an event like any other: whoever may fire it can end the wait early, unless the event is internal, only `system` may fire it, or the row that takes it looks at the time.",
			"events:\n  expire: {internal: true}"),
		warns("FSM066", "given up is taken for not done",
			"`fails` of a keyed effect says that the engine has given up: the last attempt may have happened, and its answer been lost. A payment that is given up must not lead to one that its success excludes, such as a refund. A queryable effect is asked about first, and `fails` says that it has not happened.",
			"effects:\n  pay_out: {delivery: queryable, to: bank, with: [paid_cent], returns: SENT, fails: UNPAID}"),
	}
}

func invariantRules() []Rule {
	return []Rule{
		fails("FSM060", "invariant that nothing enforces",
			"Every invariant names what enforces it: the holds of a state, its being terminal, immutable fields, a unique constraint, a forbidden edge, clauses that always hold, or a test. Prose alone is refused.",
			"invariants:\n  paid_is_final: {doc: a paid order stays paid, terminal: paid}"),
		fails("FSM061", "row takes a forbidden edge",
			"A `never` invariant forbids edges between states, `unless` its clauses hold on the new record. A row takes such an edge.",
			"transitions:\n  - {name: cancel, from: funded, on: cancel, when: [buyer_agrees == true, owner_agrees == true], to: cancelled}"),
		fails("FSM062", "row can break the holds of its target",
			"The new record of a step must satisfy the holds of the state that it ends in; else the step is refused at run time. The message names a record for which that happens. The guard of the row, its assignments, the holds of its source and what earlier rows stored are taken into account.",
			"states:\n  paid: {kind: success, terminal: true, holds: [amount >= 100]}\ntransitions:\n  - {name: pay, from: created, on: pay, when: [amount >= 100], to: paid}"),
	}
}

func valueRules() []Rule {
	return []Rule{
		fails("FSM070", "record without a required field",
			"A creation row gives every required field a value: its event writes it, the row sets it, or the field has a default.",
			"events:\n  open: {writes: [customer]}"),
		fails("FSM071", "field stored twice in one step",
			"What an event writes is stored by every row of that event; a row that sets the same field contradicts it.",
			"events:\n  pay: {fields: {received: int}}\ntransitions:\n  - {name: pay, from: created, on: pay, to: paid, set: {amount: $received}}"),
		warns("FSM072", "immutable field may already have a value",
			"An immutable field goes from absent to a value once. Where the record may have it already, another value is refused at run time.",
			"when: [deposit_tx exists false]"),
		fails("FSM073", "absent value for a required field",
			"The right side may be absent for some record, and the field is required.",
			"when: [discount exists true]\nset: {price: $discount}"),
		warns("FSM074", "value may leave the bounds of its field",
			"A row sets a field that has `min` or `max` to a value that may lie outside; the step is then refused at run time. The message names a record for which that happens.",
			"when: [tries < 3]\nset: {tries: $tries + 1}   # tries has max: 3"),
		fails("FSM075", "field derived from what can't carry it",
			"A derived field is a generated column in both databases and a method in Go. Its parts are write-once fields of type string, uuid, int or an enum, none of them derived, and present wherever the field is required.",
			"fields:\n  device_id:   {type: optional string, immutable: true}\n  device_name: {type: optional string, derive: \"thin-{device_id}\"}"),
	}
}

func tableRules() []Rule {
	return []Rule{
		warns("FSM080", "unique over an optional field",
			"SQL counts absent values as different, so two records that agree in the required fields and lack an optional one do not clash. A constraint over optional fields alone is fine: unique once known.",
			"unique:\n  unit: [dataset, object_uri]   # both required"),
		fails("FSM081", "table row lacks a column",
			"An effect on a table says which row it means by every key column. An upsert may insert, so it also binds every required column without a default; an update changes something.",
			"effects:\n  row: {upsert: images, row: {image_id: $image_id, bucket: $bucket}}"),
		fails("FSM082", "absent value for a required column",
			"Some row of the machine runs the effect when the value may be absent; the database would refuse the step.",
			"states:\n  stored: {kind: snapshot, holds: [checksum exists true]}"),
		fails("FSM083", "reference that no foreign key can express",
			"A column refers to a table whose key is one column of the same type.",
			"columns:\n  image_id: {type: string, ref: download.images}"),
		fails("FSM084", "started machine lacks a value",
			"A start effect binds every required value of the event that creates records of the other machine, and none of them may be absent.",
			"effects:\n  start_unpack: {start: unpack, with: {image_id: $image_id}}"),
		fails("FSM085", "machines create each other without end",
			"A creation row starts another machine whose creation row leads back.",
			"transitions:\n  - {name: unpacked, from: working, on: DONE, to: done, do: [start_activate]}"),
		fails("FSM086", "name that the database would change",
			"PostgreSQL keeps 63 bytes of the name of a table or column, and folds capitals. A name under `sql` is used as it is written: lower case letters, digits and _.",
			"sql: {table: orders, state: status}   # not: Orders, shop.orders"),
	}
}

func metricRules() []Rule {
	return []Rule{
		fails("FSM090", "name that Prometheus refuses",
			"Metric names have letters, digits, underscores and dots; dots become underscores, and two metrics must not become one. Labels beginning with __ and `le` of a histogram are reserved.",
			"metrics:\n  wal.records_total: {type: counter, labels: [dataset]}"),
		fails("FSM091", "buckets that are no histogram",
			"Buckets belong to a histogram and are upper bounds in rising order.",
			"metrics:\n  attempts: {type: histogram, value: $attempts, buckets: [1, 2, 5, 10]}"),
		fails("FSM092", "metric without a value",
			"A histogram or gauge that rows list observes a `value`; a metric that another component observes (`of`) brings its own, and its own moment.",
			"metrics:\n  attempts: {type: histogram, value: $attempts, buckets: [1, 2, 5]}"),
	}
}

func guardRules() []Rule {
	return []Rule{
		fails("GUARD_SYNTAX_ERROR", "guard is not three tokens",
			"Document 001: a guard is `field operator value`, with blanks between them. A bracket group is one token. There is no and, or, not or arithmetic.",
			"when: [amount >= 100, currency == EUR]"),
		fails("GUARD_INVALID_OPERATOR", "unknown operator",
			"Document 001: the operators are == != < > <= >= equals not_equals exists not_exists in not_in contains matches.",
			"when: [amount >= 100]   # not: =>"),
		fails("GUARD_INVALID_FIELD", "left side is not a name",
			"Document 001: the left side is an identifier: letters, digits and underscores, not beginning with a digit.",
			"when: [retry_count < 3]   # not: 3 > retry_count"),
		fails("GUARD_INVALID_VALUE", "value can't be read",
			"Document 001: the value is a boolean, a number, a word, an array literal or, here, $name; a pattern is a Go regular expression.",
			"when: [\"environment in [production, staging]\"]"),
		fails("GUARD_TYPE_ERROR", "guard compares different types",
			"The type of the left side decides how the value is read and which operators fit. Document 001 finds this at run time; here it is found when the machine is compiled.",
			"when: [retry_count < 3]   # an int with a number"),
		fails("GUARD_FIELD_UNDEFINED", "guard reads an unknown name",
			"The left side is a field of the record, of the event, or `state`. Document 001 warns at run time; here the name must exist.",
			"when: [amount > 0]   # amount is a field of the record or of the event"),
	}
}
