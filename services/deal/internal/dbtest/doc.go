// Package dbtest gives tests of services/deal both databases, empty but for the engine's tables.
// Nothing but tests imports it.
package dbtest
