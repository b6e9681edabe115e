package discoverytest

import (
	"context"
	"errors"
	"net/url"
	"time"

	"github.com/fsmgen/fsmgen/adapters/discovery"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// short is a timeout that a test can wait for, long what nothing here exceeds.
const (
	short = 150 * time.Millisecond
	long  = time.Minute
)

// through returns a client that reaches the agent through a proxy.
func (r *run) through(timeout time.Duration) (Client, *proxytest.Proxy) {
	r.Helper()
	r.needsNetwork()
	p := proxytest.New(r, "tcp", r.url().Host)
	o := r.at((&url.URL{Scheme: "http", Host: p.Address()}).String())
	o.Timeout = timeout
	return r.with(o), p
}

// is expects an error that is want, and none of the others.
func (r *run) is(err, want error) {
	r.Helper()
	r.fails(err, want)
	for _, other := range kinds {
		if !errors.Is(want, other) && errors.Is(err, other) {
			r.Errorf("the error is %v as well: %v", other, err)
		}
	}
}

func refused(r *run) {
	c, p := r.through(long)
	s := r.service(1)
	p.Refuse()
	r.is(c.Register(r.Context(), s), discovery.ErrRefused)
	r.nothing()
	p.Restore()
	r.must(c.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	p.Refuse()
	r.fails(c.Heartbeat(r.Context(), s.RegistrationID)) // perhaps by the end of the connection that there was
	r.is(c.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrRefused)
	r.is(c.Deregister(r.Context(), s.ID, s.RegistrationID), discovery.ErrRefused)
	_, err := c.Names(r.Context())
	r.is(err, discovery.ErrRefused)
	r.there(s, discovery.Passing)
	p.Restore()
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
	r.nothing()
}

func blackHole(r *run) {
	c, p := r.through(short)
	p.Swallow(true)
	begun := time.Now()
	err := c.Register(r.Context(), r.service(1))
	r.is(err, discovery.ErrUnreachable)
	r.fails(err, context.DeadlineExceeded)
	if took := time.Since(begun); took < short || took > long/2 {
		r.Errorf("it took %v to give up after %v", took, short)
	}
	r.nothing()
}

func reset(r *run) {
	c, p := r.through(long)
	for i, d := range []proxytest.Direction{proxytest.Request, proxytest.Answer} {
		arrived, release := p.HoldNext(d)
		failed := make(chan error, 1)
		go func() { failed <- c.Register(r.Context(), r.service(i)) }()
		<-arrived
		p.Reset()
		release()
		r.is(<-failed, discovery.ErrUnreachable)
	}
	for i := range 2 { // what the agent may still have got
		s := r.service(i)
		r.must(c.Register(r.Context(), s))
		r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
	}
	r.nothing()
}

func latency(r *run) {
	c, p := r.through(long)
	p.Delay(20 * time.Millisecond)
	s := r.service(1)
	r.must(c.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
	p.Delay(long)
	o := r.at("http://" + p.Address())
	o.Timeout = short
	r.is(r.with(o).Register(r.Context(), s), discovery.ErrUnreachable)
}

// halfOpen: a connection that only the client believes in costs one timeout.
func halfOpen(r *run) {
	c, p := r.through(2 * time.Second)
	s := r.service(1)
	r.must(c.Register(r.Context(), s))
	p.HalfOpen()
	r.is(c.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrUnreachable)
	r.must(c.Heartbeat(r.Context(), s.RegistrationID))
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
}

func cancelled(r *run) {
	c, p := r.through(long)
	s := r.service(1)
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(r.Context())
	arrived, release := p.HoldNext(proxytest.Request)
	defer release()
	failed := make(chan error, 1)
	go func() { failed <- c.Register(ctx, s) }()
	<-arrived
	cancel(enough)
	err := <-failed
	r.is(err, discovery.ErrUnreachable)
	r.fails(err, enough)
	r.fails(c.Heartbeat(ctx, s.RegistrationID), discovery.ErrUnreachable, enough)
}

func lostRequest(r *run) {
	c, p := r.through(long)
	s := r.service(1)
	p.CutNext(proxytest.Request)
	r.is(c.Register(r.Context(), s), discovery.ErrUnreachable)
	r.nothing()
	r.must(c.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
}

// lostAnswer: a call whose answer is lost can be repeated.
func lostAnswer(r *run) {
	c, p := r.through(long)
	s := r.service(1)
	p.CutNext(proxytest.Answer)
	r.is(c.Register(r.Context(), s), discovery.ErrUnreachable)
	r.there(s, discovery.Passing) // it happened
	r.must(c.Register(r.Context(), s))
	if n := len(r.instances()); n != 1 {
		r.Errorf("%d services are there", n)
	}
	p.CutNext(proxytest.Answer)
	r.is(c.Heartbeat(r.Context(), s.RegistrationID), discovery.ErrUnreachable)
	r.must(c.Heartbeat(r.Context(), s.RegistrationID))
	p.PassNext(proxytest.Answer) // to the look before it
	p.CutNext(proxytest.Answer)
	r.is(c.Deregister(r.Context(), s.ID, s.RegistrationID), discovery.ErrUnreachable)
	r.nothing() // it happened
	r.must(c.Deregister(r.Context(), s.ID, s.RegistrationID))
}

func requestsTwice(r *run) {
	c, p := r.through(long)
	s := r.service(1)
	p.RepeatNext(proxytest.Request)
	r.must(c.Register(r.Context(), s))
	r.there(s, discovery.Passing)
	if n := len(r.instances()); n != 1 {
		r.Errorf("%d services are there", n)
	}
	p.RepeatNext(proxytest.Request)
	r.must(c.Heartbeat(r.Context(), s.RegistrationID))
	o := r.at("http://" + p.Address())
	o.Timeout = long
	again := r.with(o)
	r.must(again.Heartbeat(r.Context(), s.RegistrationID))
	p.RepeatNext(proxytest.Request)
	r.must(again.Deregister(r.Context(), s.ID, s.RegistrationID))
	r.nothing()
}

// requestsLate: a heartbeat and a registration of the first registration arrive after the second
// registration. The heartbeat finds no check. The registration is noticed, and repaired.
func requestsLate(r *run) {
	c, p := r.through(long)
	s := r.service(1)
	again := reregistered(s)
	r.must(c.Register(r.Context(), s))

	release := r.late(p, func(ctx context.Context) error { return c.Heartbeat(ctx, s.RegistrationID) })
	r.must(r.client.Register(r.Context(), again))
	r.there(again, discovery.Passing)
	release()
	r.must(c.Heartbeat(r.Context(), again.RegistrationID))

	release = r.late(p, func(ctx context.Context) error { return c.Register(ctx, s) })
	r.there(again, discovery.Passing)
	release()
	r.eventually("the late registration has the ID", 0, func() bool { return r.instances()[0].RegistrationID == s.RegistrationID })
	r.fails(r.client.Heartbeat(r.Context(), again.RegistrationID), discovery.ErrNotAdvertised)
	r.must(r.client.Register(r.Context(), again))
	r.there(again, discovery.Passing)
	r.must(r.client.Deregister(r.Context(), again.ID, again.RegistrationID))
}

// late makes a call whose request the proxy keeps until it is released. The caller has given up
// by then.
func (r *run) late(p *proxytest.Proxy, request func(context.Context) error) (release func()) {
	r.Helper()
	ctx, cancel := context.WithCancel(r.Context())
	arrived, release := p.HoldNext(proxytest.Request)
	failed := make(chan error, 1)
	go func() { failed <- request(ctx) }()
	<-arrived
	cancel()
	r.is(<-failed, discovery.ErrUnreachable)
	return release
}
