package main

import (
	"os/exec"
	"strings"
	"testing"
)

// The folder has what the tests of adapters/ton load: the TVM and its configuration.
func TestTonLoads(t *testing.T) {
	cmd := exec.Command("node", "-e", `const ton = require('@ton/sandbox'); console.log(typeof ton.Executor, typeof ton.defaultConfig)`)
	cmd.Dir = address(t, "FSMGEN_TON")
	out, err := cmd.Output()
	if err != nil || strings.TrimSpace(string(out)) != "function string" {
		t.Errorf("answer = %q, %v", out, err)
	}
}
