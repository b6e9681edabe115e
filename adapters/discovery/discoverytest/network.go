package discoverytest

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// short is a timeout that a test can wait for, long what nothing here exceeds.
const (
	short = 150 * time.Millisecond
	long  = time.Minute
)

// through returns a client that reaches the agent through a proxy.
func (l *lab) through(timeout time.Duration) (*consul.Client, *proxytest.Proxy) {
	l.Helper()
	p := proxytest.New(l, "tcp", l.host())
	o := l.at((&url.URL{Scheme: "http", Host: p.Address()}).String())
	o.Timeout = timeout
	return l.with(o), p
}

// is expects an error that is want, and none of the others.
func (l *lab) is(err, want error) {
	l.Helper()
	l.fails(err, want)
	for _, other := range []error{
		discovery.ErrRefused, discovery.ErrUnreachable, discovery.ErrNotPermitted,
		discovery.ErrServer, discovery.ErrInvalid, discovery.ErrNotAdvertised,
	} {
		if !errors.Is(want, other) && errors.Is(err, other) {
			l.Errorf("the error is %v as well: %v", other, err)
		}
	}
}

func refused(l *lab) {
	c, p := l.through(long)
	s := l.service(1)
	p.Refuse()
	l.is(c.Register(l.Context(), s), discovery.ErrRefused)
	l.nothing()
	p.Restore()
	l.must(c.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	p.Refuse()
	l.fails(c.Heartbeat(l.Context(), s.RegistrationID)) // perhaps by the end of the connection that there was
	l.is(c.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrRefused)
	l.is(c.Deregister(l.Context(), s.ID, s.RegistrationID), discovery.ErrRefused)
	_, err := c.Names(l.Context())
	l.is(err, discovery.ErrRefused)
	l.there(s, discovery.Passing)
	p.Restore()
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
	l.nothing()
}

func blackHole(l *lab) {
	c, p := l.through(short)
	p.Swallow(true)
	begun := time.Now()
	err := c.Register(l.Context(), l.service(1))
	l.is(err, discovery.ErrUnreachable)
	l.fails(err, context.DeadlineExceeded)
	if took := time.Since(begun); took < short || took > long/2 {
		l.Errorf("it took %v to give up after %v", took, short)
	}
	l.nothing()
}

func reset(l *lab) {
	c, p := l.through(long)
	for i, d := range []proxytest.Direction{proxytest.Request, proxytest.Answer} {
		arrived, release := p.HoldNext(d)
		failed := make(chan error, 1)
		go func() { failed <- c.Register(l.Context(), l.service(i)) }()
		<-arrived
		p.Reset()
		release()
		l.is(<-failed, discovery.ErrUnreachable)
	}
	for i := range 2 { // what the agent may still have got
		s := l.service(i)
		l.must(c.Register(l.Context(), s))
		l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
	}
	l.nothing()
}

func latency(l *lab) {
	c, p := l.through(long)
	p.Delay(20 * time.Millisecond)
	s := l.service(1)
	l.must(c.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
	p.Delay(long)
	o := l.at("http://" + p.Address())
	o.Timeout = short
	l.is(l.with(o).Register(l.Context(), s), discovery.ErrUnreachable)
}

// A connection that only the client believes in costs one timeout.
func halfOpen(l *lab) {
	c, p := l.through(2 * time.Second)
	s := l.service(1)
	l.must(c.Register(l.Context(), s))
	p.HalfOpen()
	l.is(c.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrUnreachable)
	l.must(c.Heartbeat(l.Context(), s.RegistrationID))
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
}

func cancelled(l *lab) {
	c, p := l.through(long)
	s := l.service(1)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(l.Context())
	arrived, release := p.HoldNext(proxytest.Request)
	defer release()
	failed := make(chan error, 1)
	go func() { failed <- c.Register(ctx, s) }()
	<-arrived
	cancel(enough)
	err := <-failed
	l.is(err, discovery.ErrUnreachable)
	l.fails(err, enough)
	l.fails(c.Heartbeat(ctx, s.RegistrationID), discovery.ErrUnreachable, enough)
}

func lostRequest(l *lab) {
	c, p := l.through(long)
	s := l.service(1)
	p.CutNext(proxytest.Request)
	l.is(c.Register(l.Context(), s), discovery.ErrUnreachable)
	l.nothing()
	l.must(c.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
}

// What happened without an answer may be asked for again.
func lostAnswer(l *lab) {
	c, p := l.through(long)
	s := l.service(1)
	p.CutNext(proxytest.Answer)
	l.is(c.Register(l.Context(), s), discovery.ErrUnreachable)
	l.there(s, discovery.Passing) // it happened
	l.must(c.Register(l.Context(), s))
	if n := len(l.instances()); n != 1 {
		l.Errorf("%d services are there", n)
	}
	p.CutNext(proxytest.Answer)
	l.is(c.Heartbeat(l.Context(), s.RegistrationID), discovery.ErrUnreachable)
	l.must(c.Heartbeat(l.Context(), s.RegistrationID))
	p.PassNext(proxytest.Answer) // whose it is
	p.CutNext(proxytest.Answer)
	l.is(c.Deregister(l.Context(), s.ID, s.RegistrationID), discovery.ErrUnreachable)
	l.nothing() // it happened
	l.must(c.Deregister(l.Context(), s.ID, s.RegistrationID))
}

func requestsTwice(l *lab) {
	c, p := l.through(long)
	s := l.service(1)
	p.RepeatNext(proxytest.Request)
	l.must(c.Register(l.Context(), s))
	l.there(s, discovery.Passing)
	if n := len(l.instances()); n != 1 {
		l.Errorf("%d services are there", n)
	}
	p.RepeatNext(proxytest.Request)
	l.must(c.Heartbeat(l.Context(), s.RegistrationID))
	o := l.at("http://" + p.Address())
	o.Timeout = long
	again := l.with(o)
	l.must(again.Heartbeat(l.Context(), s.RegistrationID))
	p.RepeatNext(proxytest.Request)
	l.must(again.Deregister(l.Context(), s.ID, s.RegistrationID))
	l.nothing()
}

// A heartbeat and a registration of the first life arrive when the second has
// begun: the first finds no check, the second is noticed and healed.
func requestsLate(l *lab) {
	c, p := l.through(long)
	s := l.service(1)
	again := reregistered(s)
	l.must(c.Register(l.Context(), s))

	release := l.late(p, func(ctx context.Context) error { return c.Heartbeat(ctx, s.RegistrationID) })
	l.must(l.client.Register(l.Context(), again))
	l.there(again, discovery.Passing)
	release()
	l.must(c.Heartbeat(l.Context(), again.RegistrationID))

	release = l.late(p, func(ctx context.Context) error { return c.Register(ctx, s) })
	l.there(again, discovery.Passing)
	release()
	l.eventually("the late registration has the ID", 0, func() bool { return l.instances()[0].RegistrationID == s.RegistrationID })
	l.fails(l.client.Heartbeat(l.Context(), again.RegistrationID), discovery.ErrNotAdvertised)
	l.must(l.client.Register(l.Context(), again))
	l.there(again, discovery.Passing)
	l.must(l.client.Deregister(l.Context(), again.ID, again.RegistrationID))
}

// late makes a call whose request is kept back until it is released, when the
// caller has long given up.
func (l *lab) late(p *proxytest.Proxy, request func(context.Context) error) (release func()) {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	arrived, release := p.HoldNext(proxytest.Request)
	failed := make(chan error, 1)
	go func() { failed <- request(ctx) }()
	<-arrived
	cancel()
	l.is(<-failed, discovery.ErrUnreachable)
	return release
}
