package registration_test

import (
	"testing"
	"time"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/services/registration"
)

// fault is a fault of a connection. What inject returns mends it, and fails the test if
// no request or answer met the fault.
type fault struct {
	name   string
	inject func(s *fixture, p *proxytest.Proxy) (mend func())
}

// faults are those of a network. Each lasts until the operator mends it.
var faults = []fault{
	{"latency", func(s *fixture, p *proxytest.Proxy) func() {
		const slow = 60 * time.Millisecond // a good part of what an attempt may take
		p.Delay(slow)
		return func() { p.Delay(0) }
	}},
	{"connection refused", func(s *fixture, p *proxytest.Proxy) func() {
		p.Refuse()
		return p.Restore
	}},
	{"reset", func(s *fixture, p *proxytest.Proxy) func() {
		return once(s, p, proxytest.Request, p.Reset)
	}},
	{"answer lost after the commit", func(s *fixture, p *proxytest.Proxy) func() {
		return once(s, p, proxytest.Answer, p.Reset)
	}},
	{"black hole", func(s *fixture, p *proxytest.Proxy) func() {
		p.Swallow(true)
		return func() { p.Swallow(false); p.BreakAll() }
	}},
	{"half-open", func(s *fixture, p *proxytest.Proxy) func() {
		if p.Connections() == 0 {
			s.t.Error("there is no connection to be half-open")
		}
		p.HalfOpen()
		return func() {}
	}},
	{"answer late", func(s *fixture, p *proxytest.Proxy) func() {
		arrived, release := p.HoldNext(proxytest.Answer)
		return func() { awaitsFault(s, arrived); release() }
	}},
	{"request late", func(s *fixture, p *proxytest.Proxy) func() {
		arrived, release := p.HoldNext(proxytest.Request)
		return func() { awaitsFault(s, arrived); release() }
	}},
}

// once does something to the connections when the next request or answer is on
// its way, which is lost by that.
func once(s *fixture, p *proxytest.Proxy, d proxytest.Direction, do func()) (mend func()) {
	arrived, release := p.HoldNext(d)
	met := make(chan struct{})
	go func() {
		defer release()
		select {
		case <-arrived:
			do()
			close(met)
		case <-s.t.Context().Done():
		}
	}()
	return func() { awaitsFault(s, met) }
}

// awaitsFault waits until a request or an answer has met a fault. It fails the test if
// none does.
func awaitsFault(s *fixture, arrived <-chan struct{}) {
	s.t.Helper()
	for w := (progress.Watch{}); ; {
		select {
		case <-arrived:
			return
		default:
		}
		if err := w.Pause(s.t.Context(), nil); err != nil {
			s.t.Errorf("no request or answer met the fault: %v", err)
			return
		}
	}
}

// eachFault runs a test for each fault on each way.
func eachFault(t *testing.T, test func(t *testing.T, s *fixture, inject func() (mend func()))) {
	t.Helper()
	for _, way := range []string{"database", "consul"} {
		for _, x := range faults {
			t.Run(way+"/"+x.name, func(t *testing.T) {
				t.Parallel()
				s := newFixture(t)
				s.watched()
				s.options.AttemptTimeout = 500 * time.Millisecond
				p := s.consul
				if way == "database" {
					p = s.database
				}
				s.works().registers("warm") // opens connections
				s.reach("warm", machine.Registered, quick)
				test(t, s, func() func() { return x.inject(s, p) })
			})
		}
	}
}

// TestFaultsOfRegistration: whatever fault a registration meets, it comes to an end
// that says what is true, an operator brings it further while retries are left,
// and nothing remains once it has ended and the collectors were there.
func TestFaultsOfRegistration(t *testing.T) {
	t.Parallel()
	eachFault(t, func(t *testing.T, s *fixture, inject func() func()) {
		mend := inject()
		s.registers("n1")
		s.tellsTheTruth(s.rests("n1"))
		mend()
		s.tellsTheTruth(s.rests("n1"))
		retriesUntilRegistered(s, "n1")
		leavesNothing(s, "n1")
	})
}

// TestFaultsOfDeregistration: the same on the way out, where nothing is repeated
// and the timeout of the state ends what hangs.
func TestFaultsOfDeregistration(t *testing.T) {
	t.Parallel()
	eachFault(t, func(t *testing.T, s *fixture, inject func() func()) {
		s.registers("n1")
		s.rests("n1")
		retriesUntilRegistered(s, "n1")
		mend := inject()
		s.fires("n1", machine.Deregister{})
		s.ends("n1")
		s.tellsTheTruth(s.status("n1"))
		mend()
		leavesNothing(s, "n1")
	})
}

// retriesUntilRegistered retries until the node is registered, which the limit allows: the
// fault is over.
func retriesUntilRegistered(s *fixture, node string) {
	s.t.Helper()
	const limit = 3
	for range limit {
		if s.rests(node).State == machine.Registered {
			break
		}
		s.fires(node, machine.Retry{})
	}
	r := s.rests(node)
	if r.State != machine.Registered {
		s.t.Fatalf("node %s is %s after all retries: %s\n%s", node, r.State, s.trace(node), s.logs.text())
	}
	s.tellsTheTruth(r)
	s.wantBoth(node, true, true)
}

// leavesNothing ends the registration if it has not, and lets the collectors
// find what it left: at most its row and its service.
func leavesNothing(s *fixture, node string) {
	s.t.Helper()
	if s.rests(node).State == machine.Registered {
		s.fires(node, machine.Deregister{})
		s.ends(node)
	}
	s.consul.BreakAll() // the half-open ones, over which a late answer may still come
	s.database.BreakAll()
	s.restarts()
	r := s.status(node)
	row, service := s.owner(node) == r.RegistrationID.String(), s.advertises(r)
	s.tellsTheTruth(r)
	s.clock.advance(61 * time.Second)
	c := s.collects()
	if got := len(c.Rows) == 1; got != row {
		s.t.Errorf("the row was left: %v, and collected: %v", row, c.Rows)
	}
	if got := len(c.Services) == 1; got != service {
		s.t.Errorf("the service was left: %v, and collected: %v", service, c.Services)
	}
	s.wantBoth(node, false, false)
	s.wantBoth("warm", true, true)
}

// TestArrivesTwice: each request of a registration to Consul arrives twice, and what it
// leads to is what it leads to when it arrives once. What PostgreSQL hears twice is
// in TestDatabaseHearsTwice.
func TestArrivesTwice(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	w := s.watched()
	s.works()
	const requests = 8 // more than a registration has
	for range requests {
		s.consul.RepeatNext(proxytest.Request)
	}
	s.live("n1")
	if w.asks() != 2 {
		t.Errorf("Consul was asked %d times to advertise", w.asks())
	}
	s.wantTrace("n1", happy)
	s.wantBoth("n1", true, true)
	s.leaves("n1")
	s.wantBoth("n1", false, false)
}

// TestAnswerTwice: the answer of Consul to the registration arrives twice. The
// client gives up a connection that sends unasked data.
func TestAnswerTwice(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.watched()
	s.works().consul.RepeatNext(proxytest.Answer)
	s.registers("n1")
	s.reach("n1", machine.Registered, quick)
	s.wantTrace("n1", happy)
	s.wantBoth("n1", true, true)
	if _, err := s.server.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	if found := s.advertised(); len(found) != 1 || found[0].Health != registration.Passing {
		t.Errorf("Consul has %+v", found)
	}
}

// TestLateUpsertOfAnEarlierRegistration: the row that the first registration of a node asked for
// is written after the second has its own: the second keeps it.
func TestLateUpsertOfAnEarlierRegistration(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.watched()
	s.options.AttemptTimeout = time.Hour
	s.works().live("warm") // opens a connection, whose first request is none of ours
	arrived, release := s.database.HoldNext(proxytest.Request)
	defer release()
	s.registers("n1")
	awaitsFault(s, arrived)
	s.clock.advance(11 * time.Second)
	s.tellsTheTruth(s.await("n1", machine.Failed))
	s.fires("n1", machine.Abandon{})
	second := s.registers("n1").RegistrationID
	s.await("n1", machine.Registered)
	answered, pass := s.database.HoldNext(proxytest.Answer)
	defer pass()
	release()
	awaitsFault(s, answered)
	if has := s.owner("n1"); has != second {
		t.Errorf("%s has the row, not %s", has, second)
	}
	s.wantBoth("n1", true, true)
}

// TestLateWithdrawalOfAnEarlierRegistration: what the first registration asked of Consul last
// arrives in the second, whose service it takes: the next heartbeat brings it
// back.
func TestLateWithdrawalOfAnEarlierRegistration(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.watched()
	s.works().live("n1")
	s.consul.PassNext(proxytest.Request) // whose is the service
	arrived, release := s.consul.HoldNext(proxytest.Request)
	defer release()
	s.fires("n1", machine.Deregister{})
	awaitsFault(s, arrived)
	s.clock.advance(16 * time.Second)
	if r := s.await("n1", machine.Deregistered); r.ConsulCleanup != machine.CleanupPending {
		t.Errorf("got %+v", r)
	}
	s.wantBoth("n1", true, true)
	s.live("n1")
	s.wantBoth("n1", true, true)
	answered, pass := s.consul.HoldNext(proxytest.Answer)
	defer pass()
	release()
	awaitsFault(s, answered)
	s.wantBoth("n1", true, false)
	if _, err := s.server.Heartbeat(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.wantBoth("n1", true, true)
}

// TestLateServiceOfAnEndedRegistration: what a registration asked of Consul arrives after
// its end and after its row: the one orphan that no order of steps prevents. The
// collectors find it.
func TestLateServiceOfAnEndedRegistration(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	w := s.watched()
	s.options.AttemptTimeout = 500 * time.Millisecond
	arrived, release := s.works().consul.HoldNext(proxytest.Request)
	defer release()
	s.registers("n1")
	awaitsFault(s, arrived)
	s.rests("n1")
	retriesUntilRegistered(s, "n1")
	s.fires("n1", machine.Deregister{})
	s.ends("n1")
	s.wantBoth("n1", false, false)
	w.expectLate()
	asks := w.asks()
	release()
	s.awaits("n1", 0, func(registration.Status) bool { return w.asks() > asks })
	s.awaits("n1", 0, func(r registration.Status) bool { return s.advertises(r) })
	s.clock.advance(61 * time.Second)
	if c := s.collects(); len(c.Services) != 1 || c.Services[0] != "svc-n1" {
		t.Errorf("collected %+v", c)
	}
	s.wantBoth("n1", false, false)
}

// TestLimitEndsTheLoop: on a way that stays broken an effect is tried six times
// a retry, and the third retry is the last.
func TestLimitEndsTheLoop(t *testing.T) {
	t.Parallel()
	const attempts, limit = 6, 3
	for _, tt := range []struct{ way, effect string }{
		{"database", "postgres.upsert_registration"}, {"consul", "consul.register"},
	} {
		t.Run(tt.way, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.watched()
			p := s.consul
			if tt.way == "database" {
				p = s.database
			}
			s.works()
			p.Refuse()
			s.registers("n1")
			for range limit {
				s.rests("n1")
				s.fires("n1", machine.Retry{})
			}
			s.rests("n1")
			if tt.way == "consul" {
				a, err := s.server.Trigger(t.Context(), "n1", machine.Retry{}, call(""))
				wantExhausted(t, a, err)
			}
			s.wantExhausted("n1")
			s.clock.advance(time.Hour)
			p.Restore()
			s.tellsTheTruth(s.await("n1", machine.Failed))
			if got, ok := s.counted(attempts*(limit+1), "fsm_effect_attempts_total", "effect", tt.effect); !ok {
				t.Errorf("%s was tried %v times", tt.effect, got)
			}
		})
	}
}
