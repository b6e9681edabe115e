package discoverytest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// testCase is one case of the suite.
type testCase struct {
	name string
	run  func(*run)
}

// cases are the cases of the suite.
func cases() []testCase {
	return []testCase{
		{"RegisterMakesDiscoverable", registerMakesDiscoverable},
		{"RegisterTwiceIsOnce", registerTwice},
		{"RegisterReplaces", registerReplaces},
		{"RegisterReplacesAForeignService", registerReplacesForeign},
		{"OddIDs", oddIDs},
		{"ManyAtOnce", manyAtOnce},
		{"WithoutHeartbeatItTurnsCritical", lapse},
		{"HeartbeatKeepsItHealthy", heartbeat},
		{"HeartbeatOfAnUnknownRegistration", heartbeatUnknown},
		{"DeregisterRemoves", deregister},
		{"ADeregisteredNodeComesBack", comesBack},
		{"AnEarlierRegistrationTouchesNothing", earlierRegistration},
		{"ALateRegistrationIsNoticed", lateRegistration},
		{"Names", names},
		{"ForeignServices", foreign},
		{"WithdrawFromTheAgent", withdrawLocal},
		{"WithdrawFromALostMachine", withdrawLost},
		{"Checks", checks},
		{"RemoveCheck", removeCheck},
		{"Sessions", sessions},
		{"WithoutPermission", withoutPermission},
		{"ReadingWithoutPermission", readingWithoutPermission},
		{"InvalidRequests", invalidRequests},
		{"Correlation", correlation},
		{"Refused", refused},
		{"BlackHole", blackHole},
		{"Reset", reset},
		{"Latency", latency},
		{"HalfOpen", halfOpen},
		{"Cancelled", cancelled},
		{"LostRequest", lostRequest},
		{"LostAnswer", lostAnswer},
		{"RequestsThatComeTwice", requestsTwice},
		{"RequestsThatComeLate", requestsLate},
		{"TLS", overTLS},
		{"TLSWithCertificates", mutualTLS},
	}
}

// Run runs every case, in parallel, on a fixture that open returns.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(newRun(t, open(t)))
		})
	}
}

// run is one case on a fixture.
type run struct {
	testing.TB
	Fixture
	client Client
	prefix string // of everything that the case registers
	// patience bounds the wait for something that must happen.
	patience time.Duration
}

func newRun(t testing.TB, f Fixture) *run {
	t.Helper()
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", t.Name(), os.Getpid(), time.Now().UnixNano()))
	r := &run{TB: t, Fixture: f, prefix: fmt.Sprintf("case-%x", digest[:6]), patience: time.Minute}
	r.client = r.with(f.Access)
	return r
}

// with returns a client with another access.
func (r *run) with(a Access) Client {
	r.Helper()
	return r.Open(r, a)
}

// needsNetwork skips the case if the server is in this process.
func (r *run) needsNetwork() {
	r.Helper()
	if r.Access.Address == "" {
		r.Skip("the fixture has no address, so there is no network")
	}
}

// at returns an access that reaches the server at another address.
func (r *run) at(address string) Access {
	a := r.Access
	a.Address = address
	return a
}

// url is the server's own address.
func (r *run) url() *url.URL {
	r.Helper()
	u, err := url.Parse(r.Access.Address)
	r.must(err)
	return u
}

func (r *run) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// fails expects an error that is all of these. It says more than its kind: what was attempted.
func (r *run) fails(err error, want ...error) {
	r.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			r.Errorf("the error is %v, want %v", err, w)
		}
	}
	if err == nil || slices.Contains(kinds, err) {
		r.Errorf("the error does not say what was attempted: %v", err)
	} else if r.CheckError != nil {
		if lack := r.CheckError(err); lack != nil {
			r.Errorf("%v: %v", lack, err)
		}
	}
}

// kinds are the errors that callers test for.
var kinds = []error{
	discovery.ErrRefused, discovery.ErrUnreachable, discovery.ErrNotPermitted,
	discovery.ErrServer, discovery.ErrInvalid, discovery.ErrNotAdvertised,
}

// eventually waits until a condition holds: a catalog may follow its agent later. Before each turn
// the server's clock moves by pass. seen is reported if the condition never holds.
func (r *run) eventually(what string, pass time.Duration, holds func() bool, seen ...func() any) {
	r.Helper()
	for begun := time.Now(); !holds(); {
		if time.Since(begun) > r.patience {
			for _, s := range seen {
				r.Errorf("there is %+v", s())
			}
			r.Fatalf("after %v it is not so: %s", r.patience, what)
		}
		if r.Advance != nil {
			r.Advance(pass)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// service is the nth service of the case, in its first registration.
func (r *run) service(n int) discovery.Service {
	id := fmt.Sprintf("%s-%d", r.prefix, n)
	return discovery.Service{
		ID: id, Name: r.prefix, Tags: []string{"blue", "eu"}, TTL: time.Hour, NodeID: "node-" + id, RegistrationID: "first-of-" + id,
	}
}

// reregistered returns the service of the same node after another registration.
func reregistered(s discovery.Service) discovery.Service {
	s.RegistrationID = "later-" + s.RegistrationID
	return s
}

// registered registers the nth service.
func (r *run) registered(n int) discovery.Service {
	r.Helper()
	s := r.service(n)
	r.must(r.client.Register(r.Context(), s))
	r.Cleanup(func() { r.must(r.Registry.Deregister(context.WithoutCancel(r.Context()), s.ID)) })
	return s
}

// instances lists what is registered under the prefix.
func (r *run) instances() []discovery.Instance {
	r.Helper()
	found, err := r.client.Instances(r.Context(), r.prefix)
	r.must(err)
	return found
}

// there waits until the service is listed with this registration and health.
func (r *run) there(s discovery.Service, health discovery.Health) discovery.Instance {
	r.Helper()
	var last []discovery.Instance
	var found discovery.Instance
	r.eventually(fmt.Sprintf("%s of %s, %s", s.ID, s.RegistrationID, health), 0, func() bool {
		last = r.instances()
		for _, i := range last {
			if i.ID == s.ID && i.RegistrationID == s.RegistrationID && i.Health == health {
				found = i
				return true
			}
		}
		return false
	}, func() any { return last })
	return found
}

// nothing waits until nothing is registered under the prefix.
func (r *run) nothing() {
	r.Helper()
	r.eventually("nothing is registered", 0, func() bool { return len(r.instances()) == 0 })
}
