package registration_test

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/services/registration"
)

// outside is Consul, as a test reads it directly and as the daemon reaches it.
type outside struct {
	t      *testing.T
	url    string           // of Consul
	token  string           // for it
	suffix string           // of the names there
	client *consul.Client   // to it directly
	consul *proxytest.Proxy // between the daemon and it
}

// gone reports whether Consul advertises nothing.
func (s *outside) gone() bool { return len(s.advertised()) == 0 }

// payload is a payload without a fault.
func payload(node string) map[string]any { return (&outside{}).payload(node) }

// payload is one whose service has the names of this Consul.
func (s *outside) payload(node string) map[string]any {
	return map[string]any{
		"node_id": node, "deployment_id": "blue", "environment": "production", "network_id": "net-1",
		"consul_service_id": "svc-" + node + s.suffix, "consul_service_name": "onex-node" + s.suffix, "consul_tags": []string{"a", "b"},
		"postgres_record": map[string]any{"host": "10.0.0.7"},
	}
}

// advertised lists what Consul advertises, as service=registration.
func (s *outside) advertised() (out []registration.Instance) {
	s.t.Helper()
	found, err := s.client.Instances(context.Background(), "onex-node"+s.suffix)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, i := range found {
		if i.RegistrationID != "" {
			out = append(out, i)
		}
	}
	return out
}

// raw is Consul's own client, without the daemon's proxy.
func (s *outside) raw() *api.Client {
	s.t.Helper()
	c, err := api.NewClient(&api.Config{Address: s.url})
	if err != nil {
		s.t.Fatal(err)
	}
	return c
}

// advertises reports whether the service of a registration is there.
func (s *outside) advertises(r registration.Status) bool {
	s.t.Helper()
	for _, i := range s.advertised() {
		if i.RegistrationID == r.RegistrationID.String() {
			return true
		}
	}
	return false
}

func (s *outside) connect(url string) *consul.Client {
	s.t.Helper()
	const timeout = time.Hour // an attempt has a limit of its own, and a run of the tests is shorter
	c, err := consul.New(consul.Options{Address: url, Token: s.token, Timeout: timeout})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(c.Close)
	return c
}
