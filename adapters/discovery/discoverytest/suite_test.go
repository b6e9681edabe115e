package discoverytest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// TestMemoryPasses: an implementation without a network passes every case that needs none.
func TestMemoryPasses(t *testing.T) {
	t.Parallel()
	Run(t, func(*testing.T) Fixture { return newMemory().fixture(nil) })
}

// broken are clients with one fault each, and cases that must find it.
var broken = []struct {
	name   string
	cases  []string
	breaks func(memoryClient) Client
}{
	{"a heartbeat of any registration", []string{"HeartbeatOfAnUnknownRegistration", "AnEarlierRegistrationTouchesNothing", "ALateRegistrationIsNoticed", "WithdrawFromTheAgent"},
		func(c memoryClient) Client { return anyHeartbeat{c} }},
	{"deregistering without a look at the registration", []string{"AnEarlierRegistrationTouchesNothing", "ForeignServices"},
		func(c memoryClient) Client { return carelessDeregister{c} }},
	{"registering beside the checks that there are", []string{"RegisterReplacesAForeignService"},
		func(c memoryClient) Client { return keptChecks{c} }},
	{"withdrawing the whole node", []string{"WithdrawFromTheAgent", "WithdrawFromALostMachine"},
		func(c memoryClient) Client { return wholeNode{c} }},
	{"a service that never turns critical", []string{"WithoutHeartbeatItTurnsCritical", "AnEarlierRegistrationTouchesNothing"},
		func(c memoryClient) Client { return neverCritical{c} }},
	{"reading without permission", []string{"ReadingWithoutPermission"},
		func(c memoryClient) Client { return openNames{c} }},
	{"errors that say nothing", []string{"HeartbeatOfAnUnknownRegistration", "WithoutPermission", "InvalidRequests"},
		func(c memoryClient) Client { return bareErrors{c} }},
	{"a lost correlation id", []string{"Correlation"},
		func(c memoryClient) Client { return uncorrelated{c} }},
}

type anyHeartbeat struct{ memoryClient }

func (c anyHeartbeat) Heartbeat(context.Context, string) error { return nil }

type carelessDeregister struct{ memoryClient }

func (c carelessDeregister) Deregister(_ context.Context, serviceID, _ string) error {
	c.m.locked(func() { c.m.remove(key{here, serviceID}) })
	return nil
}

type keptChecks struct{ memoryClient }

func (c keptChecks) Register(ctx context.Context, s discovery.Service) error {
	var kept []memoryCheck
	c.m.locked(func() {
		for _, check := range c.m.checks {
			if check.ServiceID == s.ID && check.RegistrationID != s.RegistrationID {
				kept = append(kept, check)
			}
		}
	})
	err := c.memoryClient.Register(ctx, s)
	c.m.locked(func() {
		for _, check := range kept {
			c.m.checks[key{check.Node, check.ID}] = check
		}
	})
	return err
}

type wholeNode struct{ memoryClient }

func (c wholeNode) Withdraw(ctx context.Context, i discovery.Instance) error {
	return memoryRegistry{c.m}.RemoveNode(ctx, i.Node)
}

type neverCritical struct{ memoryClient }

func (c neverCritical) Register(ctx context.Context, s discovery.Service) error {
	s.TTL = 1 << 62
	return c.memoryClient.Register(ctx, s)
}

type openNames struct{ memoryClient }

func (c openNames) Names(ctx context.Context) ([]string, error) {
	return memoryClient{m: c.m, token: allowed}.Names(ctx)
}

type bareErrors struct{ memoryClient }

func (c bareErrors) Heartbeat(ctx context.Context, registrationID string) error {
	err := c.memoryClient.Heartbeat(ctx, registrationID)
	for _, kind := range kinds {
		if err != nil && strings.Contains(err.Error(), kind.Error()) {
			return kind
		}
	}
	return err
}

type uncorrelated struct{ memoryClient }

func (c uncorrelated) Register(ctx context.Context, s discovery.Service) error {
	return c.memoryClient.Register(discovery.WithCorrelation(ctx, ""), s)
}

// TestBrokenImplementationsFail: each fault is found by the cases that are about it.
func TestBrokenImplementationsFail(t *testing.T) {
	t.Parallel()
	for _, b := range broken {
		for _, name := range b.cases {
			t.Run(b.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				i := slices.IndexFunc(cases(), func(c testCase) bool { return c.name == name })
				if i < 0 {
					t.Fatalf("there is no case %s", name)
				}
				found := failures(t, cases()[i], newMemory().fixture(b.breaks))
				if len(found) == 0 {
					t.Error("the case passed")
				}
				t.Log(strings.Join(found, "\n"))
			})
		}
	}
}

// failures runs a case and returns what it reported.
func failures(t *testing.T, c testCase, f Fixture) []string {
	r := &recording{TB: t}
	done := make(chan struct{})
	go func() { // a case that fails may end its goroutine
		defer close(done)
		run := newRun(r, f)
		run.patience = 100 * time.Millisecond
		c.run(run)
	}()
	<-done
	return r.found()
}

// recording keeps failures in place of failing the test.
type recording struct {
	testing.TB
	mu       sync.Mutex
	failures []string
}

func (r *recording) Errorf(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failures = append(r.failures, fmt.Sprintf(format, args...))
}

func (r *recording) Error(args ...any) { r.Errorf("%s", fmt.Sprint(args...)) }

func (r *recording) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

func (r *recording) Fatal(args ...any) { r.Fatalf("%s", fmt.Sprint(args...)) }

func (r *recording) found() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.failures)
}
