package discoverytest

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"os"
	"testing"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// Subject is an agent that sits the exam, perhaps beside other tests.
type Subject struct {
	// Options reach it. Its ACLs are on and deny: the token may do everything.
	Options consul.Options
	// Advance lets time pass for it. nil: it passes by itself.
	Advance func(time.Duration)
}

// Run examines the agent that open names.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for _, test := range []struct {
		name string
		run  func(*lab)
	}{
		{"RegisterMakesDiscoverable", registerMakesDiscoverable},
		{"RegisterTwiceIsOnce", registerTwice},
		{"RegisterReplaces", registerReplaces},
		{"RegisterTakesAStrangersChecksAway", registerReplacesStranger},
		{"OddIDs", oddIDs},
		{"ManyAtOnce", manyAtOnce},
		{"WithoutHeartbeatItTurnsCritical", lapse},
		{"HeartbeatKeepsItHealthy", heartbeat},
		{"HeartbeatOfWhatIsUnknown", heartbeatUnknown},
		{"DeregisterTakesAway", deregister},
		{"ADeregisteredNodeComesBack", comesBack},
		{"AnEarlierLifeTouchesNothing", earlierRegistration},
		{"ALateRegistrationIsNoticed", lateRegistration},
		{"Names", names},
		{"Strangers", strangers},
		{"WithdrawOfTheAgent", withdrawLocal},
		{"WithdrawOfALostMachine", withdrawLost},
		{"Checks", checks},
		{"RemoveCheck", removeCheck},
		{"Sessions", sessions},
		{"WithoutPermission", withoutPermission},
		{"ReadingWithoutPermission", readingWithoutPermission},
		{"InvalidRequests", invalidRequests},
		{"CorrelationGoesAlong", correlation},
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
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			test.run(newLab(t, open(t)))
		})
	}
}

// lab is one test at an agent.
type lab struct {
	*testing.T
	Subject
	client *consul.Client
	raw    *api.Client // does what others do
	prefix string      // of everything that the test registers
}

func newLab(t *testing.T, s Subject) *lab {
	t.Helper()
	digest := sha256.Sum256(fmt.Appendf(nil, "%s %d %d", t.Name(), os.Getpid(), time.Now().UnixNano()))
	l := &lab{T: t, Subject: s, prefix: fmt.Sprintf("exam-%x", digest[:6])}
	l.client = l.with(s.Options)
	raw, err := api.NewClient(&api.Config{Address: s.Options.Address, Token: s.Options.Token})
	l.must(err)
	l.raw = raw
	return l
}

// with returns a client with other options.
func (l *lab) with(o consul.Options) *consul.Client {
	l.Helper()
	c, err := consul.New(o)
	l.must(err)
	l.Cleanup(c.Close)
	return c
}

// at returns options that reach the agent at another address.
func (l *lab) at(address string) consul.Options {
	o := l.Options
	o.Address = address
	return o
}

// host is the agent's own address.
func (l *lab) host() string {
	l.Helper()
	u, err := url.Parse(l.Options.Address)
	l.must(err)
	return u.Host
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

// fails expects an error that is all of these.
func (l *lab) fails(err error, want ...error) {
	l.Helper()
	for _, w := range want {
		if !errors.Is(err, w) {
			l.Errorf("the error is %v, want %v", err, w)
		}
	}
	var told *consul.Error
	if !errors.As(err, &told) || told.Attempt == "" || told.Advice == "" || told.Err == nil {
		l.Errorf("the error tells no attempt, advice or cause: %v", err)
	}
}

// eventually waits until a condition holds: Consul's catalog follows its agent.
// Each turn lets some time of the agent pass. What was seen last is told if it
// never does.
func (l *lab) eventually(what string, pass time.Duration, holds func() bool, seen ...any) {
	l.Helper()
	for begun := time.Now(); !holds(); {
		if time.Since(begun) > time.Minute {
			l.Fatalf("waited in vain: %s; there is %+v", what, seen)
		}
		if l.Advance != nil {
			l.Advance(pass)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// service is the nth service of the test, in its first life.
func (l *lab) service(n int) discovery.Service {
	id := fmt.Sprintf("%s-%d", l.prefix, n)
	return discovery.Service{
		ID: id, Name: l.prefix, Tags: []string{"blue", "eu"}, TTL: time.Hour, NodeID: "node-" + id, RegistrationID: "life-1-of-" + id,
	}
}

// reregistered returns the service of the same node after another registration.
func reregistered(s discovery.Service) discovery.Service {
	s.RegistrationID = "later-" + s.RegistrationID
	return s
}

// registered registers the nth service.
func (l *lab) registered(n int) discovery.Service {
	l.Helper()
	s := l.service(n)
	l.must(l.client.Register(l.Context(), s))
	l.Cleanup(func() { _ = l.raw.Agent().ServiceDeregister(s.ID) }) // the test may have done it
	return s
}

// instances lists what is registered under the test's name.
func (l *lab) instances() []discovery.Instance {
	l.Helper()
	found, err := l.client.Instances(l.Context(), l.prefix)
	l.must(err)
	return found
}

// there waits until the service is listed with this registration and health.
func (l *lab) there(s discovery.Service, health discovery.Health) discovery.Instance {
	l.Helper()
	var last []discovery.Instance
	var found discovery.Instance
	l.eventually(fmt.Sprintf("%s of %s, %s", s.ID, s.RegistrationID, health), 0, func() bool {
		last = l.instances()
		for _, i := range last {
			if i.ID == s.ID && i.RegistrationID == s.RegistrationID && i.Health == health {
				found = i
				return true
			}
		}
		return false
	}, &last)
	return found
}

// nothing waits until nothing is registered under the test's name.
func (l *lab) nothing() {
	l.Helper()
	l.eventually("nothing is registered", 0, func() bool { return len(l.instances()) == 0 })
}
