package upload_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/crashtest"
)

func TestCrash(t *testing.T) {
	crashtest.Crash(t, crashtest.Subject{Specs: "../../spec", Cast: []crashtest.Member{
		crashtest.Fixed(upload.Define[any](nil), upload.Transitions()),
	}})
}
