// Package fsm is the vocabulary of generated machines: optional values,
// identities, rejections, effects as data, checked arithmetic, retry policies.
//
// It is pure: no I/O, no clock, no randomness, the standard library alone.
// Callers pass in the time and random shares. Executing effects and
// storing records is the business of the engine, not of this package.
package fsm
