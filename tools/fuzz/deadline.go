package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
)

// A fuzzer runs a target once. It returns what go printed, and an error if the run failed.
type fuzzer func(context.Context, target) (output string, err error)

// attempts is how often a target is run while go's own deadline ends it. The last such end is a
// failure.
const attempts = 3

// ownDeadline is all that a run prints as its failure when go takes the end of -fuzztime for an
// error of the target (https://go.dev/issue/75804; Go 1.27 has it mended). A target that fails
// prints its own text, and the file with its input.
var ownDeadline = regexp.MustCompile(`(?m)^--- FAIL: \w+ \([0-9.]+s\)\n {4}context deadline exceeded\nFAIL$`)

// repeat runs a target, and again while go's own deadline ends it. It says so on out.
func repeat(ctx context.Context, out io.Writer, t target, fuzz fuzzer) (output string, err error) {
	for attempt := 1; ; attempt++ {
		output, err = fuzz(ctx, t)
		if err == nil || attempt == attempts || !ownDeadline.MatchString(output) {
			return output, err
		}
		fmt.Fprintf(out, "fuzz %s again: go's own deadline ended it (https://go.dev/issue/75804)\n", t)
	}
}
