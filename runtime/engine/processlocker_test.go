package engine_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/proptest/locktest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

func TestProcessLocker(t *testing.T) {
	t.Parallel()
	var shared engine.ProcessLocker
	locktest.Run(t, func(*testing.T) engine.Locker { return &shared })
}
