// Package bench measures the compiler and its output beside what a person
// would write by hand and beside other libraries, in one run.
//
// `make bench` runs it and rewrites the table of docs/benchmarks.md.
package bench
