//go:build !race

package crashtest

// raced: this program was built with the race detector.
const raced = false
