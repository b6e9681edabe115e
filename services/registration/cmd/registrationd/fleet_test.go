package main

import (
	"testing"

	"github.com/fsmgen/fsmgen/internal/pgtest"
)

// schema names a schema that goes with the test.
func schema(t *testing.T) (dsn, name string) {
	t.Helper()
	dsn = pgtest.DSN(t)
	return dsn, pgtest.Schema(t, dsn)
}

// TestFleet: two daemons share a database, one single-step and one two-step. Each
// knows all nodes, and takes only its own along when it ends.
func TestFleet(t *testing.T) {
	t.Parallel()
	dsn, name := schema(t)
	consul := inProcessConsul(t)
	one := start(t, "--store", dsn, "--schema", name, "--consul", consul, "--name", "one")
	two := start(t, "--store", dsn, "--schema", name, "--consul", consul, "--name", "two", "--two-step")
	if one.ready["store"] != "postgres" {
		t.Errorf("ready: %v", one.ready)
	}
	if code, text := one.says("register", "n1", "--event", "-"); code != 0 {
		t.Fatal(text)
	}
	if s := two.reaches("n1", "registered"); s.Daemon != "one" {
		t.Errorf("got %+v", s)
	}
	// The service id is taken, and two says so.
	if code, text := two.says("register", "n2", "--event", "-"); code != 0 {
		t.Fatal(text)
	}
	if s := one.reaches("n2", "failed"); s.ValidationError.V != `consul_service_id is that of node "n1"` {
		t.Errorf("got %+v", s)
	}
	two.terminates()
	one.reaches("n1", "registered")
	one.terminates()
	again := start(t, "--store", dsn, "--schema", name, "--consul", consul, "--name", "one")
	again.reaches("n1", "deregistered")
	again.reaches("n2", "failed")
	if code, text := again.says("abandon", "n2"); code != 0 {
		t.Fatal(text)
	}
	again.terminates()
}
