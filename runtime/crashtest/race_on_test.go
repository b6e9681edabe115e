//go:build race

package crashtest_test

// raced: this program was built with the race detector.
const raced = true
