package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestDemoWalksBothMachinesToTheEnd(t *testing.T) {
	var out bytes.Buffer
	if err := run(&out, "../..", false); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	for _, want := range []string{
		"10 tables compiled",
		"The deal ended in COMPLETED_RELEASED",
		"The registration ended in deregistered",
		"refused in FUNDED",
		"by the clock",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Error("colours without a terminal")
	}
}

func TestDemoNeedsTheSpecs(t *testing.T) {
	if err := run(&bytes.Buffer{}, t.TempDir(), false); err == nil || !strings.Contains(err.Error(), "make demo") {
		t.Errorf("got %v", err)
	}
}
