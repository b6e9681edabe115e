package registration_test

import (
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/services/registration"
)

func call(key string) registration.Call { return registration.Call{Key: key} }

func wantExhausted(t *testing.T, a registration.Accepted, err error) {
	t.Helper()
	if !errors.Is(err, registration.ErrExhausted) || a.State != "failed" {
		t.Fatalf("got %+v, %v; want the limit", a, err)
	}
}

// serviceOf is what a registration of a node advertises.
func serviceOf(node, registrationID string) registration.Service {
	return registration.Service{ID: "svc-" + node, Name: "onex-node", TTL: time.Minute, NodeID: node, RegistrationID: registrationID}
}

// rowOf is the row of a registration.
func rowOf(node, registrationID string) registration.Row {
	return registration.Row{
		Key:          registration.Key{NodeID: node, RegistrationID: registrationID},
		DeploymentID: "d", Environment: "e", NetworkID: "n", Record: []byte(`{}`), CorrelationID: "c",
	}
}
