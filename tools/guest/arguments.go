package main

import (
	"fmt"
	"slices"
	"strings"
)

// guestProfile is where the test writes its coverage within the guest.
const guestProfile = "/tmp/cover.out"

// invocation is what go test asks of the test binary.
type invocation struct {
	arguments []string // for the binary in the guest
	profile   string   // where the host wants the coverage; "": nowhere
}

// dropped are arguments that name places on the host and that the guest does not need:
// the log by which go test decides what it may cache, and where files go that
// are refused or brought back by name.
var dropped = []string{"testlogfile", "gocoverdir", "outputdir"}

// refused are arguments that would leave a file in the guest.
var refused = []string{"cpuprofile", "memprofile", "blockprofile", "mutexprofile", "trace", "fuzz", "fuzzcachedir", "artifacts"}

// readArguments takes the arguments that go test gives a test binary apart.
func readArguments(args []string) (invocation, error) {
	var in invocation
	for _, arg := range args {
		flag, isTest := strings.CutPrefix(arg, "-test.")
		name, value, _ := strings.Cut(flag, "=")
		switch {
		case isTest && slices.Contains(dropped, name):
			continue
		case isTest && slices.Contains(refused, name):
			return in, fmt.Errorf("%s writes a file in the guest, which ends with the test: run without it", arg)
		case isTest && name == "coverprofile":
			in.profile = value
			arg = "-test.coverprofile=" + guestProfile
		}
		in.arguments = append(in.arguments, arg)
	}
	return in, nil
}
