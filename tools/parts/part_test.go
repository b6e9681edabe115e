package main

import (
	"slices"
	"strings"
	"testing"
)

func TestChoose(t *testing.T) {
	known := []part{&aPart{called: "postgres"}, &aPart{called: "redis"}, &aPart{called: "mermaid"}}
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", []string{"postgres", "redis", "mermaid"}},
		{"redis", []string{"redis"}},
		{"mermaid,postgres", []string{"postgres", "mermaid"}},
	} {
		chosen, err := choose(known, c.list)
		if err != nil {
			t.Errorf("%q: %v", c.list, err)
		}
		if got := namesOf(chosen); !slices.Equal(got, c.want) {
			t.Errorf("%q: chose %q, want %q", c.list, got, c.want)
		}
	}
}

func TestChooseUnknown(t *testing.T) {
	_, err := choose([]part{&aPart{called: "postgres"}, &aPart{called: "redis"}}, "postgres,rediss")
	if err == nil || !strings.Contains(err.Error(), `"rediss"`) || !strings.Contains(err.Error(), "postgres, redis") {
		t.Errorf("error = %v", err)
	}
}

func TestKnownPartsHaveDistinctNames(t *testing.T) {
	names := namesOf(knownParts("."))
	slices.Sort(names)
	if len(slices.Compact(names)) != len(knownParts(".")) {
		t.Errorf("names = %q", names)
	}
}
