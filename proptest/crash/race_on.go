//go:build race

package crash

// raced: this program was built with the race detector.
const raced = true
