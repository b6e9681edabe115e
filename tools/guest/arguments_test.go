package main

import (
	"slices"
	"strings"
	"testing"
)

func TestReadArguments(t *testing.T) {
	in, err := readArguments([]string{
		"-test.paniconexit0", "-test.testlogfile=/host/log", "-test.timeout=1m30s", "-test.coverprofile=/host/cover",
		"-test.gocoverdir=/host/dir", "-test.outputdir=/host", "-test.run=^TestX$", "-own", "two words",
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"-test.paniconexit0", "-test.timeout=1m30s", "-test.coverprofile=" + guestProfile, "-test.run=^TestX$", "-own", "two words"}
	if !slices.Equal(in.arguments, want) || in.profile != "/host/cover" {
		t.Errorf("read %+v, want the arguments %q", in, want)
	}
}

func TestReadArgumentsRefuses(t *testing.T) {
	for _, arg := range []string{"-test.cpuprofile=x", "-test.trace=x", "-test.fuzz=FuzzX"} {
		if in, err := readArguments([]string{arg}); err == nil || !strings.Contains(err.Error(), arg) {
			t.Errorf("%s: %+v, %v", arg, in, err)
		}
	}
}
