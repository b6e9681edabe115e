//go:build unix

package jepsen_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// verb is what a handler wants of the outside world.
type verb string

const (
	verbDo  verb = "do"  // carry the effect out
	verbAsk verb = "ask" // tell whether it was carried out
)

// call is one request to the outside world.
type call struct {
	Verb    verb
	ID      string // idempotency key
	Effect  string
	Record  string
	Attempt int
	Worker  string
	Begun   time.Time // when the handler began
}

// client calls the outside world for one worker process.
type client struct {
	url, worker string
	journal     *journal
	http        http.Client
}

func newClient(url, worker string, j *journal) *client {
	// A connection for each call: the transport repeats none then.
	return &client{url: url, worker: worker, journal: j, http: http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

// call writes the call down, then sends it. done is the answer of a query.
func (c *client) call(ctx context.Context, v verb, d fsm.Dispatch) (done bool, err error) {
	request := call{Verb: v, ID: d.ID, Effect: d.Effect, Record: d.Record, Attempt: d.Attempt, Worker: c.worker, Begun: time.Now()}
	if err := c.journal.add(entry{Call: &request}); err != nil {
		return false, err
	}
	body, err := json.Marshal(request)
	if err != nil {
		return false, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return false, err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return false, &engine.UnknownError{Err: err}
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
		err = json.NewDecoder(answer.Body).Decode(&done)
	case http.StatusUnprocessableEntity:
		err = &engine.PermanentError{Err: fmt.Errorf("the outside refuses %s for good", d.Effect)}
	default:
		err = fmt.Errorf("the outside says %s", answer.Status)
	}
	return done, err
}
