//go:build unix

package jepsen_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// booking is a line of the outside world's books.
type booking struct {
	call
	At   time.Time // when the call arrived
	Done time.Time // when the call took effect; zero: it did not
}

// outside is the world outside of the database. It keeps books, and answers as
// badly as its behaviours say. A queryable effect and one that is at_most_once take
// effect with every call that gets so far: the outside compares no keys.
type outside struct {
	url string

	mu       sync.Mutex
	random   *rand.Rand
	usual    odds // of what it does with an effect while it is not degraded
	degraded bool // it is much worse than usual
	healthy  bool // it does nothing wrong
	books    []booking
	done     map[string]bool // by idempotency key
	counts   map[string]int  // calls by what became of them
}

// behaviour is what the outside world does with one call.
type behaviour string

const (
	answers      behaviour = "answered"
	refuses      behaviour = "refused"          // not carried out, and says so
	refusesEver  behaviour = "refused for good" // the same, and a repeat is pointless
	swallows     behaviour = "answer swallowed" // carried out, and the connection ends
	drops        behaviour = "dropped"          // not carried out, and the connection ends
	answersLate  behaviour = "answered late"
	actsLate     behaviour = "carried out late" // unless the caller has gone
	neverAnswers behaviour = "never answered"   // not carried out
)

// odds are how often, of a hundred calls, each behaviour comes. The rest is answered.
type odds map[behaviour]int

var (
	doOdds      = odds{refuses: 5, refusesEver: 1, swallows: 4, drops: 2, answersLate: 3, actsLate: 3, neverAnswers: 1}
	doDegraded  = odds{refuses: 15, refusesEver: 3, swallows: 30, drops: 10, answersLate: 10, actsLate: 10, neverAnswers: 4}
	askOdds     = odds{refuses: 8, drops: 4, answersLate: 3}
	askDegraded = odds{refuses: 50, drops: 20, answersLate: 5}
)

func newOutside(t testing.TB, seed uint64, usual odds) *outside {
	t.Helper()
	o := &outside{random: rand.New(rand.NewPCG(seed, 1)), usual: usual, done: map[string]bool{}, counts: map[string]int{}}
	server := httptest.NewServer(o)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	o.url = server.URL
	return o
}

// degrade makes the answers much worse.
func (o *outside) degrade() { o.set(true, false) }

// restore ends what degrade began.
func (o *outside) restore() { o.set(false, false) }

// heal ends everything that is wrong with the answers.
func (o *outside) heal() { o.set(false, true) }

func (o *outside) set(degraded, healthy bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.degraded, o.healthy = degraded, healthy
}

// ServeHTTP takes a call.
func (o *outside) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	at := time.Now()
	var c call
	if err := json.NewDecoder(r.Body).Decode(&c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	m, wait := o.choose(c.Verb)
	n := o.note(c, at, m)
	switch m {
	case refuses:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	case refusesEver:
		w.WriteHeader(http.StatusUnprocessableEntity)
		return
	case drops:
		panic(http.ErrAbortHandler)
	case neverAnswers:
		<-r.Context().Done()
		return
	case actsLate:
		if !pass(r.Context(), wait) {
			return
		}
	}
	done := o.act(n, c)
	if m == swallows {
		panic(http.ErrAbortHandler)
	}
	if m == answersLate && !pass(r.Context(), wait) {
		return
	}
	_ = json.NewEncoder(w).Encode(done) // a caller that has gone needs no answer
}

// pass lets time pass. It reports false when ctx ends before.
func pass(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// choose draws a behaviour, and how late a late call is: up to one and a half leases.
func (o *outside) choose(v verb) (behaviour, time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait := time.Duration(o.random.Int64N(int64(lease + lease/2)))
	table := map[verb][2]odds{verbDo: {o.usual, doDegraded}, verbAsk: {askOdds, askDegraded}}[v]
	chosen := table[0]
	if o.degraded {
		chosen = table[1]
	}
	if o.healthy {
		return answers, wait
	}
	n := o.random.IntN(100)
	for _, m := range []behaviour{refuses, refusesEver, swallows, drops, answersLate, actsLate, neverAnswers} {
		if n -= chosen[m]; n < 0 {
			return m, wait
		}
	}
	return answers, wait
}

// note books a call that arrived, and returns its line.
func (o *outside) note(c call, at time.Time, m behaviour) int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.counts[string(c.Verb)+" "+string(m)]++
	o.books = append(o.books, booking{call: c, At: at})
	return len(o.books) - 1
}

// act carries a call out, or answers a query.
func (o *outside) act(line int, c call) (done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if c.Verb == verbAsk {
		return o.done[c.ID]
	}
	o.books[line].Done, o.done[c.ID] = time.Now(), true
	return true
}

// read returns the books, and what became of the calls.
func (o *outside) read() ([]booking, map[string]int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.books), o.counts
}
