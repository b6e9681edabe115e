package consul_test

import (
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery/discoverytest"
	"github.com/fsmgen/fsmgen/internal/consulagent"
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
	discoverytest.Run(t, func(t *testing.T) discoverytest.Subject {
		time := &clock{now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		server := httptest.NewServer(consulagent.New(consulagent.Options{Token: "all", Now: time.Now}))
		t.Cleanup(server.Close)
		return discoverytest.Subject{Options: consul.Options{Address: server.URL, Token: "all"}, Advance: time.advance}
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
	discoverytest.Run(t, func(*testing.T) discoverytest.Subject { return discoverytest.Subject{Options: o} })
}
