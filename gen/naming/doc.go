// Package naming derives Go and SQL identifiers from the names of a spec.
//
// The functions are pure and know no machine. Two names of one spec may well
// derive the same identifier (foo_bar and foo-bar); package check rejects such
// specs, so the back ends never have to dodge.
//
// The generated Go package of a machine has these scopes, in each of which
// every identifier must be unique:
//
//   - package: [GoPackageNames]; Exported of every state, enum and event (the
//     payload struct); Exported(enum)+Exported(value); "Event", "From" and
//     "Fire" forms of an event, "In" form of a state, "Role" and "By" forms of
//     an actor, "Effect" and "Answer" forms of an effect, "Transition" form of a row (see
//     [GoForms]).
//   - record: [GoRecordNames], Exported of the id and of every record field,
//     and Exported of every event (its method), internal ones excepted.
//   - payload of one event: [GoPayloadNames] and Exported of every field and
//     write.
//   - payload of one effect: Exported of every name in `with` or `row`.
//   - params: Exported of every param.
//   - handlers: Exported of every effect that is a call, and the "Query" form
//     of those that can be queried.
package naming
