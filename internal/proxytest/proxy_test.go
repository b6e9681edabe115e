package proxytest_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// clerk is a server that keeps every line it was sent and answers each.
type clerk struct {
	address string
	mu      sync.Mutex
	lines   []string
	heard   chan struct{} // one for each
}

func newClerk(t *testing.T) *clerk {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	c := &clerk{address: l.Addr().String(), heard: make(chan struct{}, 100)}
	t.Cleanup(func() { must(t, l.Close()) })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go c.serve(conn)
		}
	}()
	return c
}

func (c *clerk) serve(conn net.Conn) {
	defer conn.Close()
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		c.mu.Lock()
		c.lines = append(c.lines, lines.Text())
		c.mu.Unlock()
		c.heard <- struct{}{}
		fmt.Fprintf(conn, "did %s\n", lines.Text())
	}
}

func (c *clerk) has(t *testing.T, want ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Equal(c.lines, want) {
		t.Errorf("the server has %q, want %q", c.lines, want)
	}
}

// client talks to the clerk through a proxy.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func dial(t *testing.T, p *proxytest.Proxy) client {
	t.Helper()
	conn, err := p.Dial(t.Context(), "", "")
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // a second time, perhaps
	return client{conn, bufio.NewReader(conn)}
}

func (c client) say(t *testing.T, line string) {
	t.Helper()
	_, err := fmt.Fprintln(c, line)
	must(t, err)
}

// hear returns the next answer.
func (c client) hear() (string, error) { return c.answers.ReadString('\n') }

func (c client) hears(t *testing.T, want string) {
	t.Helper()
	if got, err := c.hear(); err != nil || got != want+"\n" {
		t.Errorf("heard %q, %v; want %q", got, err, want)
	}
}

func (c client) ends(t *testing.T) {
	t.Helper()
	if got, err := c.hear(); err == nil {
		t.Errorf("heard %q, %v; want the end", got, err)
	}
}

func (c client) hearsNothing(t *testing.T) {
	t.Helper()
	_ = c.SetReadDeadline(time.Now().Add(50 * time.Millisecond)) // a closed one says so when it is read
	got, err := c.hear()
	_ = c.SetReadDeadline(time.Time{}) // as above
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("heard %q, %v; want nothing", got, err)
	}
}

func start(t *testing.T) (*proxytest.Proxy, *clerk) {
	t.Parallel()
	c := newClerk(t)
	return proxytest.New(t, "tcp", c.address), c
}

func TestForwards(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	turns := p.RoundTrips(func() {
		for i := range 3 {
			c.say(t, fmt.Sprint(i))
			c.hears(t, fmt.Sprint("did ", i))
		}
	})
	s.has(t, "0", "1", "2")
	if turns != 3 || p.Connections() != 1 {
		t.Errorf("%d round trips on %d connections", turns, p.Connections())
	}
}

func TestCutRequestIsLost(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	p.CutNext(proxytest.Request)
	c.say(t, "a")
	c.ends(t)
	again := dial(t, p)
	again.say(t, "b")
	again.hears(t, "did b")
	s.has(t, "b")
}

func TestCutAnswerWasEarned(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	p.CutNext(proxytest.Answer)
	c.say(t, "a")
	c.ends(t)
	s.has(t, "a")
}

func TestFaultsStandInLine(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	p.PassNext(proxytest.Answer)
	p.RepeatNext(proxytest.Answer)
	p.CutNext(proxytest.Answer)
	c.say(t, "a")
	c.hears(t, "did a")
	c.say(t, "b")
	c.hears(t, "did b")
	c.hears(t, "did b")
	c.say(t, "c")
	c.ends(t)
	s.has(t, "a", "b", "c")
}

func TestRepeatedRequestHappensTwice(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	p.RepeatNext(proxytest.Request)
	c.say(t, "a")
	c.hears(t, "did a")
	c.hearsNothing(t)
	s.has(t, "a", "a")
}

func TestRepeatedAnswerArrivesTwice(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	p.RepeatNext(proxytest.Answer)
	c.say(t, "a")
	c.hears(t, "did a")
	c.hears(t, "did a")
	s.has(t, "a")
}

func TestHeldRequestArrivesAfterTheClientHasGone(t *testing.T) {
	p, s := start(t)
	early := dial(t, p)
	arrived, release := p.HoldNext(proxytest.Request)
	early.say(t, "early")
	<-arrived
	must(t, early.Close())
	late := dial(t, p)
	late.say(t, "late")
	late.hears(t, "did late")
	s.has(t, "late")
	<-s.heard
	release()
	release() // once is enough
	<-s.heard
	s.has(t, "late", "early")
}

func TestHeldAnswer(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	arrived, release := p.HoldNext(proxytest.Answer)
	c.say(t, "a")
	<-arrived
	s.has(t, "a")
	c.hearsNothing(t)
	release()
	c.hears(t, "did a")
}

func TestDelay(t *testing.T) {
	p, _ := start(t)
	c := dial(t, p)
	p.Delay(30 * time.Millisecond)
	begun := time.Now()
	c.say(t, "a")
	c.hears(t, "did a")
	if took := time.Since(begun); took < 60*time.Millisecond {
		t.Errorf("there and back took %v", took)
	}
}

func TestSwallow(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	p.Swallow(true)
	c.say(t, "a")
	dial(t, p).hearsNothing(t)
	c.hearsNothing(t)
	progress.Until(t, "the proxy to swallow it", func() (any, bool) { return nil, p.Turns() == 1 })
	p.Swallow(false)
	c.say(t, "b")
	c.hears(t, "did b")
	s.has(t, "b")
}

func TestHalfOpen(t *testing.T) {
	p, s := start(t)
	c := dial(t, p)
	c.say(t, "a")
	c.hears(t, "did a")
	p.HalfOpen()
	c.say(t, "b")
	c.hearsNothing(t)
	again := dial(t, p)
	again.say(t, "c")
	again.hears(t, "did c")
	s.has(t, "a", "c")
	must(t, c.Close())
	progress.Until(t, "the proxy to see it", func() (any, bool) { return p.Connections(), p.Connections() <= 1 })
}

func TestReset(t *testing.T) {
	p, _ := start(t)
	c := dial(t, p)
	c.say(t, "a")
	c.hears(t, "did a")
	p.Reset()
	if _, err := c.hear(); !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("the end is %v", err)
	}
}

func TestBreakAll(t *testing.T) {
	p, _ := start(t)
	c := dial(t, p)
	c.say(t, "a")
	c.hears(t, "did a")
	p.BreakAll()
	if _, err := c.hear(); !errors.Is(err, io.EOF) {
		t.Errorf("the end is %v", err)
	}
}

func TestRefuseAndRestore(t *testing.T) {
	p, _ := start(t)
	c := dial(t, p)
	c.say(t, "a")
	c.hears(t, "did a")
	p.Refuse()
	c.ends(t)
	if _, err := p.Dial(t.Context(), "", ""); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("it was not refused: %v", err)
	}
	p.Restore()
	again := dial(t, p)
	again.say(t, "b")
	again.hears(t, "did b")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
