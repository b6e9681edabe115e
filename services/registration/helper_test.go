package registration_test

import (
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/services/registration"
)

func call(key string) registration.Call { return registration.Call{Key: key} }

func wantExhausted(t *testing.T, a registration.Accepted, err error) {
	t.Helper()
	if !errors.Is(err, registration.ErrExhausted) || a.State != "failed" {
		t.Fatalf("got %+v, %v; want the limit", a, err)
	}
}
