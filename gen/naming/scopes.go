package naming

// GoPackageNames returns the package-level names that every generated package
// may declare or import, whatever its spec.
func GoPackageNames() []string {
	return []string{
		"State", "States", "ParseState", "Event", "Events", "ParseEvent", "Payload", "DecodeEvent",
		"Record", "Columns", "NewRecord", "Call", "Params", "DefaultParams", "Actor", "Role", "Roles", "ParseRole",
		"RoleSystem", "BySystem", "Transition", "Transitions", "Steps", "MaxSteps", "Raised",
		"Fire", "FireNew", "Step", "StepNew", "Effects", "EffectInfos", "Failures",
		"View", "Deadline", "DeadlineOf", "PostgresSchema", "SQLiteSchema", "MachineName", "MachineVersion",
		"Handlers", "Definition", "Define", "Client", "Calls", "In", "Within",
	}
}

// GoRecordNames returns the names of the fixed fields and methods of Record.
func GoRecordNames() []string {
	return []string{"State", "View", "StateName", "Columns", "Values", "Pointers", "Legal"}
}

// GoPayloadNames returns the names of the methods of every payload struct.
func GoPayloadNames() []string { return []string{"Event", "EventName"} }

// GoForm is a family of package-level identifiers derived from the names of
// one kind of declaration: Prefix + Exported(name) + Suffix.
type GoForm struct{ Prefix, Suffix string }

// Of returns the identifier that f derives from a spec name.
func (f GoForm) Of(name string) string { return f.Prefix + Exported(name) + f.Suffix }

// The forms of the package scope.
var (
	GoPlain      = GoForm{}                 // state constants, enum types, payload structs
	GoEvent      = GoForm{"Event", ""}      // event constants
	GoFire       = GoForm{"Fire", ""}       // typed firing functions, one per public event
	GoFrom       = GoForm{"", "From"}       // their type sets
	GoParse      = GoForm{"Parse", ""}      // what reads an enum's words
	GoNew        = GoForm{"New", ""}        // creation functions, where a machine has several
	GoIn         = GoForm{"In", ""}         // typed views, one per state
	GoRole       = GoForm{"Role", ""}       // role constants
	GoBy         = GoForm{"By", ""}         // actor constructors
	GoEffect     = GoForm{"", "Effect"}     // effect payloads
	GoAnswer     = GoForm{"", "Answer"}     // what an effect may answer
	GoTransition = GoForm{"Transition", ""} // transition constants; suffixed where a row expands
)

// GoForms returns the forms whose identifiers a declaration of the given kind
// puts into the package scope. Kinds: state, event, enum, actor, effect,
// transition. Enum values add GoPlain(enum)+Exported(value).
func GoForms(kind string) []GoForm {
	switch kind {
	case "state":
		return []GoForm{GoPlain, GoIn}
	case "event":
		return []GoForm{GoPlain, GoEvent, GoFire, GoFrom, GoNew}
	case "enum":
		return []GoForm{GoPlain, GoParse}
	case "actor":
		return []GoForm{GoRole, GoBy}
	case "effect":
		return []GoForm{GoEffect, GoAnswer}
	case "transition":
		return []GoForm{GoTransition}
	}
	return nil
}

// The forms of the methods of Handlers, one scope of their own.
var (
	GoHandler = GoForm{}            // of every call
	GoQuery   = GoForm{"Query", ""} // besides, of every queryable call
)
