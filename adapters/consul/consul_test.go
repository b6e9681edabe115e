package consul_test

import (
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/consul/agent"
	"github.com/fsmgen/fsmgen/adapters/consul/consultest"
	"github.com/fsmgen/fsmgen/internal/parts"
)

// clock is a time that tests let pass.
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

// TestInProcess examines the agent of this repository, which is not Consul.
func TestInProcess(t *testing.T) {
	t.Parallel()
	consultest.Run(t, func(t *testing.T) consultest.Subject {
		time := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		server := httptest.NewServer(agent.New(agent.Options{Token: "all", Now: time.Now}))
		t.Cleanup(server.Close)
		return consultest.Subject{Options: consul.Options{Address: server.URL, Token: "all"}, Advance: time.advance}
	})
}

// TestConsul examines a real agent.
func TestConsul(t *testing.T) {
	t.Parallel()
	address := parts.Address(t, "FSMGEN_CONSUL")
	if address == "absent" {
		t.Skip("there is no Consul here: the summary says why")
	}
	o, err := consul.FromURL(address)
	if err != nil {
		t.Fatal(err)
	}
	consultest.Run(t, func(*testing.T) consultest.Subject { return consultest.Subject{Options: o} })
}
