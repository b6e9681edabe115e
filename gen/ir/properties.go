package ir

// What the stages ask of a word of a vocabulary. A new word has to answer each
// question (the linter exhaustive): a comparison with one other word would answer for
// it.

// Presence reports whether op asks if its left side is present. Every other operator
// compares, and is false where a side is absent.
func (op Op) Presence() bool {
	switch op {
	case Exists, NotExists:
		return true
	case Eq, Ne, Lt, Gt, Le, Ge, In, NotIn, Contains, Matches:
		return false
	}
	panic(NoForm("ir.Op.Presence", op))
}

// InChecks reports whether op may stand in a state invariant: every database decides it
// wherever records are judged.
func (op Op) InChecks() bool {
	switch op {
	case Eq, Ne, Lt, Gt, Le, Ge, Exists, NotExists, In, NotIn:
		return true
	case Contains, Matches:
		return false
	}
	panic(NoForm("ir.Op.InChecks", op))
}

// LooksInside reports whether op asks for a part of its left side: an element of a list or
// a piece of a text. Its right side is no value of the left one, and a text that is made
// longer may answer it otherwise.
func (op Op) LooksInside() bool {
	switch op {
	case Contains, Matches:
		return true
	case Eq, Ne, Lt, Gt, Le, Ge, Exists, NotExists, In, NotIn:
		return false
	}
	panic(NoForm("ir.Op.LooksInside", op))
}

// Identifies reports whether values of b can be ids of records and callers.
func (b Base) Identifies() bool {
	switch b {
	case UUID, String, Int:
		return true
	case Bool, Time, Duration, JSON, ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.Identifies", b))
}

// Bounded reports whether a field of b may have min and max: of its value, or of its
// length.
func (b Base) Bounded() bool {
	switch b {
	case Int, String:
		return true
	case Bool, Time, Duration, UUID, JSON, ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.Bounded", b))
}

// OneSpelling reports whether Go and the databases write a value of b as the same text,
// so that it can be a part of a derived field.
func (b Base) OneSpelling() bool {
	switch b {
	case String, UUID, Int, EnumOf:
		return true
	case Bool, Time, Duration, JSON, ListOf:
		return false
	}
	panic(NoForm("ir.Base.OneSpelling", b))
}

// EmptyIsNull reports whether an empty value of b is null in JSON.
func (b Base) EmptyIsNull() bool {
	switch b {
	case ListOf, JSON:
		return true
	case String, Int, Bool, Time, Duration, UUID, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.EmptyIsNull", b))
}

// AbsentIsEmpty reports whether the text of an absent value of b is what Go holds for it.
func (b Base) AbsentIsEmpty() bool {
	switch b {
	case String:
		return true
	case Int, Bool, Time, Duration, UUID, JSON, ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.AbsentIsEmpty", b))
}

// Counts reports whether sums of values of b are of b: their result is known to the
// database that knows the parts.
func (b Base) Counts() bool {
	switch b {
	case Int, Duration:
		return true
	case String, Bool, Time, UUID, JSON, ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.Counts", b))
}

// Sum reports whether an expression of kind k is computed of two parts.
func (k ExprKind) Sum() bool {
	switch k {
	case Add, Sub:
		return true
	case Read, Null:
		return false
	}
	panic(NoForm("ir.ExprKind.Sum", k))
}

// Handled reports whether a handler of the service carries out an effect of kind k. The
// engine carries out the others itself.
func (k EffectKind) Handled() bool {
	switch k {
	case Call:
		return true
	case Log, Upsert, Update, Delete, Start:
		return false
	}
	panic(NoForm("ir.EffectKind.Handled", k))
}

// InStep reports whether an effect of class d is carried out in the transaction of its
// step, and so can't answer with an event.
func (d Delivery) InStep() bool {
	switch d {
	case InTransaction:
		return true
	case Idempotent, Keyed, Queryable, AtMostOnce:
		return false
	}
	panic(NoForm("ir.Delivery.InStep", d))
}

// Asked reports whether the handler of an effect of class d has a query that says
// whether the effect has happened.
func (d Delivery) Asked() bool {
	switch d {
	case Queryable:
		return true
	case InTransaction, Idempotent, Keyed, AtMostOnce:
		return false
	}
	panic(NoForm("ir.Delivery.Asked", d))
}

// NeedsLost reports whether an effect of class d has to say which event is fired when
// recovery can't know if it happened: nothing else finds it out.
func (d Delivery) NeedsLost() bool {
	switch d {
	case AtMostOnce:
		return true
	case InTransaction, Idempotent, Keyed, Queryable:
		return false
	}
	panic(NoForm("ir.Delivery.NeedsLost", d))
}

// Harmless reports whether carrying out an effect of class d twice is as good as once,
// without a key or a query.
func (d Delivery) Harmless() bool {
	switch d {
	case Idempotent:
		return true
	case InTransaction, Keyed, Queryable, AtMostOnce:
		return false
	}
	panic(NoForm("ir.Delivery.Harmless", d))
}

// FailsInDoubt reports whether `fails` of an effect of class d may be fired although an
// attempt has succeeded: the engine gives up after its last attempt, and no query tells what became of it.
func (d Delivery) FailsInDoubt() bool {
	switch d {
	case Idempotent, Keyed:
		return true
	case InTransaction, Queryable, AtMostOnce:
		return false
	}
	panic(NoForm("ir.Delivery.FailsInDoubt", d))
}

// NeedsValue reports whether a metric of type t has to say what it observes. A counter
// counts by one.
func (t MetricType) NeedsValue() bool {
	switch t {
	case Gauge, Histogram:
		return true
	case Counter:
		return false
	}
	panic(NoForm("ir.MetricType.NeedsValue", t))
}

// HasBuckets reports whether a metric of type t sorts values into buckets, and so has
// the label "le".
func (t MetricType) HasBuckets() bool {
	switch t {
	case Histogram:
		return true
	case Counter, Gauge:
		return false
	}
	panic(NoForm("ir.MetricType.HasBuckets", t))
}

// ByRows reports whether transitions list a metric about o and say what its value is.
// The others are measured by the engine or by what surrounds the machine.
func (o Observed) ByRows() bool {
	switch o {
	case OfRows:
		return true
	case OfTimeout, OfStateDuration, OfFatal, OfService:
		return false
	}
	panic(NoForm("ir.Observed.ByRows", o))
}

// Succeeds reports whether a caller may hope for state s: any end but an
// error is one.
func (s *State) Succeeds() bool {
	switch s.Kind {
	case Success:
		return true
	case Initial, Operational, Snapshot, Terminal:
		return s.Terminal
	case Failed:
		return false
	}
	panic(NoForm("ir.State.Succeeds", s.Kind))
}

// Reached reports whether k is the kind of a state in which nothing is left to recover.
func (k Kind) Reached() bool {
	switch k {
	case Success:
		return true
	case Initial, Operational, Snapshot, Failed, Terminal:
		return false
	}
	panic(NoForm("ir.Kind.Reached", k))
}

// Fails reports whether k is the kind of a state that a failure leads to.
func (k Kind) Fails() bool {
	switch k {
	case Failed:
		return true
	case Initial, Operational, Snapshot, Success, Terminal:
		return false
	}
	panic(NoForm("ir.Kind.Fails", k))
}

// ByLength reports whether min and max of a field of b bound its length in characters.
// Those of a number bound its value, and no other type has any.
func (b Base) ByLength() bool {
	switch b {
	case String:
		return true
	case Int, Bool, Time, Duration, UUID, JSON, ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.ByLength", b))
}

// AssertsPresence reports whether c says that its left side is present and nothing else
// of it.
func (c *Clause) AssertsPresence() bool {
	switch c.Op {
	case Exists:
		return c.Right.Literal == true
	case NotExists:
		return c.Right.Literal == false
	case Eq, Ne, Lt, Gt, Le, Ge, In, NotIn, Contains, Matches:
		return false
	}
	panic(NoForm("ir.Clause.AssertsPresence", c.Op))
}

// NamesState reports whether s is the name of a state.
func (s Special) NamesState() bool {
	switch s {
	case StateName, FromName:
		return true
	case "", Now, ActorID, ErrorText:
		return false
	}
	panic(NoForm("ir.Special.NamesState", s))
}

// MayBeAbsent reports whether some steps have no s: a creation has no old state, the system no
// id.
func (s Special) MayBeAbsent() bool {
	switch s {
	case FromName, ActorID:
		return true
	case "", Now, StateName, ErrorText:
		return false
	}
	panic(NoForm("ir.Special.MayBeAbsent", s))
}

// IsWord reports whether b is written as one word.
func (b Base) IsWord() bool {
	switch b {
	case String, Int, Bool, Time, Duration, UUID, JSON:
		return true
	case ListOf, EnumOf:
		return false
	}
	panic(NoForm("ir.Base.IsWord", b))
}

// InLists reports whether a list may hold values of b.
func (b Base) InLists() bool {
	switch b {
	case String, Int, Bool, Time, Duration, UUID, EnumOf:
		return true
	case JSON, ListOf:
		return false
	}
	panic(NoForm("ir.Base.InLists", b))
}
