package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"
)

// schema makes a schema that goes with the test; without a server it skips.
func schema(t *testing.T) (dsn, name string) {
	t.Helper()
	dsn = os.Getenv("FSMGEN_POSTGRES_DSN")
	switch {
	case dsn == "" && os.Getenv("FSMGEN_REQUIRE_PARTS") == "1":
		t.Fatal("FSMGEN_POSTGRES_DSN is not set, and FSMGEN_REQUIRE_PARTS demands PostgreSQL")
	case dsn == "":
		t.Skip("FSMGEN_POSTGRES_DSN is not set: nothing was tested against PostgreSQL")
	}
	b := make([]byte, 8)
	_, _ = rand.Read(b) // never fails
	name = "regd_" + hex.EncodeToString(b)
	t.Cleanup(func() {
		ctx := context.Background()
		c, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := c.Exec(ctx, "DROP SCHEMA IF EXISTS "+name+" CASCADE"); err != nil {
			t.Error(err)
		}
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return dsn, name
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
