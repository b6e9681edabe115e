package gen_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestEveryDeliveryIsProven: a machine of ours has an effect of each delivery class, so the
// crash proof and the simulation hold it to its promise.
func TestEveryDeliveryIsProven(t *testing.T) {
	paths, err := filepath.Glob("../spec/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		text.Write(data)
	}
	for _, d := range ir.Deliveries() {
		if !strings.Contains(text.String(), "delivery: "+string(d)+",") && !strings.Contains(text.String(), "delivery: "+string(d)+"\n") {
			t.Errorf("no table of spec/ has an effect that is %s: neither proptest/crash nor proptest/simulate tries the class", d)
		}
	}
}
