package registration_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/registration"
	"github.com/fsmgen/fsmgen/services/registration/httpapi"
)

// api serves the daemon of the fixture.
func (s *fixture) api() *httptest.Server {
	s.t.Helper()
	server := httptest.NewServer(httpapi.New(s.server, http.NotFoundHandler(), s.options.Logger))
	s.t.Cleanup(server.Close)
	return server
}

// asks sends a request and returns the status and the body of the answer.
func asks(t *testing.T, server *httptest.Server, method, path string, body []byte, headers ...string) (int, []byte) {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), method, server.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		q.Header.Set(headers[i], headers[i+1])
	}
	a, err := server.Client().Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // it was read
	text, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, text
}

func event(t *testing.T, payload any) []byte {
	t.Helper()
	return encoded(t, map[string]any{"payload": payload})
}

// TestRefusals: bad input gets the error code of document 001, and changes
// nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.works().registers("there")
		before := s.await("there", machine.Registered)
		api := s.api()
		many := payload("new")
		many["consul_tags"] = []string{strings.Repeat("x", 1<<20)}
		stranger := payload("new")
		stranger["node_id"] = "somebody else"
		const none = "00000000-0000-4000-8000-00000000000"
		for name, tt := range map[string]struct {
			path    string
			body    []byte
			headers []string
			status  int
			code    httpapi.Code
		}{
			"unknown trigger":                   {path: "there/explode", status: 404, code: httpapi.CodeInvalidTransition},
			"unknown node":                      {path: "new/retry", status: 404, code: httpapi.CodeUnknownNode},
			"trigger in the wrong state":        {path: "there/retry", status: 409, code: httpapi.CodeInvalidTransition},
			"node that is registered":           {path: "there/register", body: event(t, payload("there")), status: 409, code: httpapi.CodeInvalidTransition},
			"no payload":                        {path: "new/register", body: []byte(`{}`), status: 409, code: httpapi.CodeGuardFailed},
			"payload null":                      {path: "new/register", body: []byte(`{"payload": null}`), status: 409, code: httpapi.CodeGuardFailed},
			"payload that is a list":            {path: "new/register", body: []byte(`{"payload": []}`), status: 400, code: httpapi.CodeValidation},
			"no JSON":                           {path: "new/register", body: []byte(`{`), status: 400, code: httpapi.CodeValidation},
			"NUL":                               {path: "new/register", body: []byte(`{"payload": {"deployment_id": "a\u0000"}}`), status: 400, code: httpapi.CodeValidation},
			"payload of another node":           {path: "new/register", body: event(t, stranger), status: 400, code: httpapi.CodeValidation},
			"1 MB of tags":                      {path: "new/register", body: event(t, many), status: 413, code: httpapi.CodeValidation},
			"correlation id that is not one":    {path: "new/register", body: event(t, payload("new")), headers: []string{"X-Correlation-ID", "mine"}, status: 400, code: httpapi.CodeValidation},
			"correlation id of a trigger":       {path: "there/deregister", headers: []string{"X-Correlation-ID", "mine"}, status: 400, code: httpapi.CodeValidation},
			"envelope that is no correlation":   {path: "new/register", body: []byte(`{"envelope": {"correlation_id": "mine"}, "payload": {}}`), status: 400, code: httpapi.CodeValidation},
			"two correlation ids":               {path: "new/register", body: []byte(`{"envelope": {"correlation_id": "` + none + `1"}, "payload": {}}`), headers: []string{"X-Correlation-ID", none + "2"}, status: 400, code: httpapi.CodeValidation},
			"key with a control character":      {path: "there/deregister", headers: []string{"Idempotency-Key", "a\tb"}, status: 400, code: httpapi.CodeValidation},
			"correction of what has not failed": {path: "there/correct", body: event(t, payload("there")), status: 409, code: httpapi.CodeInvalidTransition},
			"correction without a payload":      {path: "there/correct", body: []byte(`{}`), status: 400, code: httpapi.CodeValidation},
			"node whose name is a line":         {path: "a%0Ab/register", body: event(t, payload("a\nb")), status: 400, code: httpapi.CodeValidation},
		} {
			status, text := asks(t, api, "POST", "/v1/nodes/"+tt.path, tt.body, tt.headers...)
			var f httpapi.Failure
			if err := json.Unmarshal(text, &f); err != nil || status != tt.status || f.Code != tt.code || f.Message == "" {
				t.Errorf("%s: %d %s, want %d %s", name, status, text, tt.status, tt.code)
			}
		}
		if after := s.status("there"); after.Version != before.Version {
			t.Errorf("the registered node is at %+v", after)
		}
		if _, err := s.server.Recorded(t.Context(), "new"); err == nil {
			t.Error("a refused registration left a record")
		}
	})
}

// TestPayloadLimit: to the byte.
func TestPayloadLimit(t *testing.T) {
	t.Parallel()
	s := newSQLiteFixture(t).open()
	exact := payload("n1")
	exact["filler"] = ""
	exact["filler"] = strings.Repeat("x", registration.MaxPayload-len(encoded(t, exact)))
	s.registersWith("n1", exact)
	more := payload("n2")
	more["filler"] = strings.Repeat("x", len(exact["filler"].(string))+1)
	if _, err := s.server.Register(t.Context(), "n2", encoded(t, more), call("")); !errors.Is(err, registration.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}

// TestBadPayloads: a payload with a missing or wrong field fails with the reason,
// and is never half registered.
func TestBadPayloads(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.works().live("holder")
		deep := strings.Repeat("t", 256)
		n := 0
		for _, tt := range []struct {
			field string
			value any
			kind  machine.ValidationErrorType
		}{
			{"deployment_id", nil, machine.ValidationErrorTypeMissing},
			{"environment", "", machine.ValidationErrorTypeMissing},
			{"network_id", 7, machine.ValidationErrorTypeMissing},
			{"consul_service_id", []string{"a"}, machine.ValidationErrorTypeMissing},
			{"consul_service_name", "", machine.ValidationErrorTypeMissing},
			{"postgres_record", "text", machine.ValidationErrorTypeMissing},
			{"postgres_record", nil, machine.ValidationErrorTypeMissing},
			{"deployment_id", deep, machine.ValidationErrorTypeInvalid},
			{"environment", "a\nb", machine.ValidationErrorTypeInvalid},
			{"consul_service_id", "a/b", machine.ValidationErrorTypeInvalid},
			{"consul_service_id", "svc-holder", machine.ValidationErrorTypeInvalid},
			{"consul_service_name", "a name", machine.ValidationErrorTypeInvalid},
			{"consul_tags", "a", machine.ValidationErrorTypeInvalid},
			{"consul_tags", []any{"a", 7}, machine.ValidationErrorTypeInvalid},
			{"consul_tags", []string{deep}, machine.ValidationErrorTypeInvalid},
			{"consul_tags", strings.Split(strings.Repeat("t,", 100), ","), machine.ValidationErrorTypeInvalid},
			{"consul_health_check", "60s", machine.ValidationErrorTypeInvalid},
			{"consul_health_check", map[string]any{"ttl": "soon"}, machine.ValidationErrorTypeInvalid},
			{"consul_health_check", map[string]any{"ttl": "1ms"}, machine.ValidationErrorTypeInvalid},
			{"consul_health_check", map[string]any{"http": "http://x"}, machine.ValidationErrorTypeInvalid},
		} {
			n++
			node := "bad-" + string(rune('a'+n))
			wrong := maps.Clone(payload(node))
			wrong[tt.field] = tt.value
			s.registersWith(node, wrong)
			status := s.await(node, machine.Failed)
			if status.ValidationErrorType.V != tt.kind || status.ValidationError.V == "" || status.PostgresApplied || status.ConsulApplied {
				t.Errorf("%s = %v: got %+v", tt.field, tt.value, status.Record)
			}
			s.wantBoth(node, false, false)
			if !s.counts(1, "registration_validation_error_total", "node_id", node, "validation_error_type", tt.kind.String()) {
				t.Errorf("%s = %v: registration_validation_error_total was not counted once", tt.field, tt.value)
			}
		}
	})
}

// TestReplayedTriggers: with a key a repetition is answered like the first time,
// byte for byte, whatever has become of the node, and changes nothing.
func TestReplayedTriggers(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.works()
		api := s.api()
		const correlation = "3f2b7a7c-0d7e-4a51-9d5c-0d7e4a519d5c"
		register := func(key string) (int, []byte) {
			return asks(t, api, "POST", "/v1/nodes/n1/register", event(t, payload("n1")), "Idempotency-Key", key, "X-Correlation-ID", correlation)
		}
		_, first := register("a")
		s.await("n1", machine.Registered)
		if status, again := register("a"); status != 200 || !bytes.Equal(first, again) {
			t.Errorf("the first time it was %s, then %s", first, again)
		}
		_, gone := asks(t, api, "POST", "/v1/nodes/n1/deregister", nil, "Idempotency-Key", "b")
		s.await("n1", machine.Deregistered)
		version := s.status("n1").Version
		if _, again := register("a"); !bytes.Equal(first, again) {
			t.Errorf("the first time it was %s, after its end %s", first, again)
		}
		if _, again := asks(t, api, "POST", "/v1/nodes/n1/deregister", nil, "Idempotency-Key", "b"); !bytes.Equal(gone, again) {
			t.Errorf("the first time it was %s, then %s", gone, again)
		}
		if status := s.status("n1"); status.Version != version || status.CorrelationID != correlation {
			t.Errorf("got %+v", status)
		}
		if status, text := asks(t, api, "POST", "/v1/nodes/n1/retry", nil, "Idempotency-Key", "b"); status != 422 {
			t.Errorf("the key of another trigger: %d %s", status, text)
		}
		// A new registration, and the old keys still name the old one.
		if _, next := register("c"); bytes.Equal(first, next) {
			t.Error("a new registration is the old one")
		}
		s.await("n1", machine.Registered)
		if _, again := register("a"); !bytes.Equal(first, again) {
			t.Errorf("the first time it was %s, at the next registration %s", first, again)
		}
	})
}

// TestCorrelationRunsThrough: the correlation id of the event is in the history,
// in the row, in Consul and in every log line of the node.
func TestCorrelationRunsThrough(t *testing.T) {
	t.Parallel()
	s := newFixture(t).works()
	const correlation = "3f2b7a7c-0d7e-4a51-9d5c-0d7e4a519d5c"
	if _, err := s.server.Register(t.Context(), "n1", encoded(t, payload("n1")), registration.Call{Correlation: correlation}); err != nil {
		t.Fatal(err)
	}
	s.await("n1", machine.Registered)
	var daemon, noted string
	const row = ".node_registrations WHERE node_id = 'n1'"
	if err := s.pool.QueryRow(t.Context(), "SELECT daemon, correlation_id FROM "+s.options.Schema+row).Scan(&daemon, &noted); err != nil || daemon != "daemon-1" || noted != correlation {
		t.Errorf("the row has the daemon %q and the correlation id %q, %v", daemon, noted, err)
	}
	if got := s.advertised(); got[0].CorrelationID != correlation {
		t.Errorf("Consul has %+v", got)
	}
	s.leaves("n1")
	steps, err := s.server.History(t.Context(), "n1")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range steps {
		if x.CorrelationID != correlation {
			t.Errorf("step %s has the correlation id %s", x.Transition, x.CorrelationID)
		}
	}
	lines := 0
	for line := range strings.Lines(s.logs.text()) {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		if l["record"] != nil {
			lines++
			if l["correlation"] != correlation {
				t.Errorf("log line without the correlation id: %s", line)
			}
		}
	}
	if lines < 15 {
		t.Errorf("%d log lines of the node", lines)
	}
}

// TestStatusAndHealth: what the API tells.
func TestStatusAndHealth(t *testing.T) {
	t.Parallel()
	s := newSQLiteFixture(t).works()
	s.live("n1")
	api := s.api()
	var status registration.Status
	if code, text := asks(t, api, "GET", "/v1/nodes/n1/status", nil); code != 200 || json.Unmarshal(text, &status) != nil ||
		status.State != machine.Registered || status.Row == nil || !*status.Row || status.Service == nil || !*status.Service {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := asks(t, api, "GET", "/v1/nodes/nobody/history", nil); code != 404 {
		t.Errorf("the history of an unknown node: %d", code)
	}
	condition := func() (c registration.Condition, code int) {
		code, text := asks(t, api, "GET", "/healthz", nil)
		if err := json.Unmarshal(text, &c); err != nil {
			t.Fatal(err)
		}
		return c, code
	}
	if c, code := condition(); code != 200 || c.Store != "ok" || c.Consul != "ok" {
		t.Errorf("%d %+v", code, c)
	}
	s.consul.Refuse()
	if c, code := condition(); code != 200 || c.Store != "ok" || !strings.Contains(c.Consul, "refused") {
		t.Errorf("%d %+v", code, c)
	}
}

// TestWithoutConsul: the daemon says that it works without, nothing claims to be
// advertised, and what is given up is collected.
func TestWithoutConsul(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, s *fixture) {
		s.options.Discovery, s.options.Catalog = nil, nil
		s.works().registers("n1")
		status := s.await("n1", machine.PartialRegistered)
		if !strings.Contains(status.ConsulError.V, "started without Consul") || !status.PostgresApplied || status.ConsulApplied {
			t.Errorf("got %+v", status)
		}
		if c := s.server.Health(t.Context()); !strings.HasPrefix(c.Consul, "none") || c.Store != "ok" {
			t.Errorf("got %+v", c)
		}
		if !strings.Contains(s.logs.text(), "started without Consul") {
			t.Error("the log does not say so")
		}
		for range 3 {
			s.fires("n1", machine.Retry{})
			s.await("n1", machine.PartialRegistered)
		}
		if a, err := s.server.Trigger(t.Context(), "n1", machine.Retry{}, call("")); err == nil {
			t.Errorf("the fourth retry was accepted: %+v", a)
		}
		s.fires("n1", machine.Abandon{})
		collectsAll(s, "n1")
	})
}
