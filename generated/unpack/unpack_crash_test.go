package unpack_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/crashtest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

func TestCrash(t *testing.T) {
	crashtest.Crash(t, crashtest.Subject{Specs: "../../spec", Cast: []crashtest.Member{
		crashtest.Tuned(func(p unpack.Params) engine.Machine[any] { return unpack.Define[any](nil, p) }, unpack.Transitions()),
		crashtest.Tuned(func(p download.Params) engine.Machine[any] { return download.Define[any](nil, p) }, download.Transitions()),
		crashtest.Fixed(activate.Define[any](nil), activate.Transitions()),
	}})
}
