package main

import (
	"strings"
	"testing"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// TestTerminatesDespiteConsul: SIGTERM while Consul is a black hole. The daemon
// ends within the 15 s of the document, and what it leaves tells the truth: what
// Consul did not confirm may still be advertised, and so keeps its row (F-001-14).
func TestTerminatesDespiteConsul(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		terminatesDespiteConsul(t, "--dir", t.TempDir())
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, name := schema(t)
		terminatesDespiteConsul(t, "--store", dsn, "--schema", name)
	})
}

func terminatesDespiteConsul(t *testing.T, args ...string) {
	t.Helper()
	consul := inProcessConsul(t)
	proxy := proxytest.New(t, "tcp", strings.TrimPrefix(consul, "http://"))
	args = append(args, "--name", "here")
	d := start(t, append(args, "--consul", "http://"+proxy.Address())...)
	d.registers("n1")
	d.reaches("n1", "registered")
	proxy.Swallow(true)
	d.registers("underway")
	d.reaches("underway", "registering_consul")
	d.terminates()

	again := start(t, append(args, "--consul", consul)...)
	left := again.reaches("n1", "deregistered")
	if left.ConsulCleanup != machine.CleanupFailed || left.PostgresCleanup != machine.CleanupFailed || !is(left.Row) || !is(left.Service) {
		t.Errorf("SIGTERM left %+v", left)
	}
	left = again.reaches("underway", "partial_registered")
	if !left.PostgresApplied || left.ConsulApplied || !left.ConsulError.IsSet || !is(left.Row) || is(left.Service) {
		t.Errorf("SIGTERM left %+v", left)
	}
	again.terminates()
}

func is(b *bool) bool { return b != nil && *b }
