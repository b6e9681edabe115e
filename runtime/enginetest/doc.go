// Package enginetest helps to test what stands on an engine: an Engine on a store of
// its own for each test, a Clock that the test sets, fake handlers, and Drain, which
// does all that is due. No test has to sleep, and tests can run in parallel.
package enginetest
