// Package enginetest helps to test programs that use an engine. It has an Engine with its own store
// for each test, a Clock that the test sets, fake handlers, and Drain, which does all work that is
// due. No test has to sleep, and tests can run in parallel.
package enginetest
