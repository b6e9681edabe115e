package gen

import (
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/gen/ir"
)

// TestAWordWithoutAFormIsAnError: the panic of a stage without a form for a value
// becomes an error, and no other panic does.
func TestAWordWithoutAFormIsAnError(t *testing.T) {
	stage := func(fault any) (err error) {
		defer returnNoForm(&err)
		if fault != nil {
			panic(fault)
		}
		return nil
	}
	gap := ir.NoForm("golang.text", ir.Base("decimal"))
	if err := stage(gap); !errors.Is(err, gap) {
		t.Errorf("got %v", err)
	}
	if err := stage(nil); err != nil {
		t.Errorf("without a fault: %v", err)
	}
	defer func() {
		if got := recover(); got != "broken on purpose" {
			t.Errorf("another panic becomes %v", got)
		}
	}()
	t.Errorf("another panic is returned: %v", stage("broken on purpose"))
}
