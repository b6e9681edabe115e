package consul_test

import (
	"errors"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery/discoverytest"
	"github.com/fsmgen/fsmgen/internal/consulagent"
	"github.com/fsmgen/fsmgen/internal/parts"
)

// clock is a time that tests move.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// TestInProcess runs the conformance suite on the agent of this repository, which is not Consul.
func TestInProcess(t *testing.T) {
	t.Parallel()
	discoverytest.Run(t, func(t *testing.T) discoverytest.Fixture {
		o, clock := inProcess(t)
		return fixture(t, o, clock.advance)
	})
}

// TestConsul runs the conformance suite on a real agent.
func TestConsul(t *testing.T) {
	t.Parallel()
	o := agent(t)
	discoverytest.Run(t, func(t *testing.T) discoverytest.Fixture { return fixture(t, o, nil) })
}

// inProcess starts the agent of this repository and returns how to reach it.
func inProcess(t *testing.T) (consul.Options, *clock) {
	t.Helper()
	c := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	server := httptest.NewServer(consulagent.New(consulagent.Options{Token: "all", Now: c.Now}))
	t.Cleanup(server.Close)
	return consul.Options{Address: server.URL, Token: "all"}, c
}

// agent returns how to reach the real agent. Without one the test is skipped.
func agent(t *testing.T) consul.Options {
	t.Helper()
	address := parts.Address(t, "FSMGEN_CONSUL")
	if address == "absent" {
		t.Skip("there is no Consul here: the summary says why")
	}
	o, err := consul.FromURL(address)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// fixture has the suite run on this adapter.
func fixture(t *testing.T, o consul.Options, advance func(time.Duration)) discoverytest.Fixture {
	t.Helper()
	r, err := newRegistry(o)
	if err != nil {
		t.Fatal(err)
	}
	return discoverytest.Fixture{
		Access: discoverytest.Access{Address: o.Address, Token: o.Token},
		Open: func(t testing.TB, a discoverytest.Access) discoverytest.Client {
			return open(t, consul.Options{Address: a.Address, Token: a.Token, TLS: a.TLS, Timeout: a.Timeout})
		},
		Registry: r, Datacenter: "dc1", Advance: advance, CheckError: complete,
	}
}

// complete reports what an error of the adapter lacks.
func complete(err error) error {
	var told *consul.Error
	if !errors.As(err, &told) || told.Attempt == "" || told.Advice == "" || told.Err == nil {
		return errors.New("the error has no attempt, advice or cause")
	}
	return nil
}
