package main

import (
	"context"
	"regexp"
)

// A fuzzer runs a target once. It returns what go printed, and an error if the run failed.
type fuzzer func(context.Context, target) (output string, err error)

// attempts is how often a target may end at go's own deadline before that counts as its failure.
const attempts = 3

// ownDeadline is all that a run prints as its failure when go's coordinator takes the end of
// -fuzztime for an error of the target (https://go.dev/issue/75804; Go 1.27 has it mended). A
// target that fails prints its own text, and the file with its input.
var ownDeadline = regexp.MustCompile(`(?m)^--- FAIL: \w+ \([0-9.]+s\)\n {4}context deadline exceeded\nFAIL$`)

// repeat runs a target, and again as long as nothing but go's own deadline ended it.
func repeat(ctx context.Context, t target, fuzz fuzzer) (output string, err error) {
	for range attempts {
		output, err = fuzz(ctx, t)
		if err == nil || !ownDeadline.MatchString(output) {
			break
		}
	}
	return output, err
}
