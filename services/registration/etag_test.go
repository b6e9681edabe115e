package registration_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"

	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/registration"
	"github.com/fsmgen/fsmgen/services/registration/httpapi"
)

// TestIfMatch: with the ETag of a status a trigger is for that registration as it was
// then.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := newSQLiteFixture(t).works()
	s.live("n1")
	api := s.api()
	post := func(trigger, match, key string) (int, httpapi.Failure) {
		t.Helper()
		var f httpapi.Failure
		headers := []string{httpapi.HeaderIfMatch, match}
		if key != "" {
			headers = append(headers, httpapi.HeaderKey, key)
		}
		code, text := asks(t, api, "POST", "/v1/nodes/n1/"+trigger, nil, headers...)
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		return code, f
	}
	seen := etagOf(t, api.URL+"/v1/nodes/n1/status")
	for _, bad := range []string{"*", `W/` + seen, "x", `"x"`, `"x:0"`, seen + ", " + seen} {
		if code, f := post("deregister", bad, ""); code != 400 || !strings.Contains(f.Message, "If-Match") {
			t.Errorf("%s: %d %+v", bad, code, f)
		}
	}
	if code, f := post("register", seen, ""); code != 400 || !strings.Contains(f.Message, "leave it out") {
		t.Errorf("register: %d %+v", code, f)
	}
	if code, f := post("deregister", seen, "k"); code != 200 {
		t.Fatalf("as it was seen: %d %+v", code, f)
	}
	s.await("n1", machine.Deregistered)
	if code, f := post("deregister", seen, ""); code != 412 || f.Code != httpapi.CodeStateMismatch || f.State != "deregistered" {
		t.Errorf("as it was seen before: %d %+v", code, f)
	}
	if code, f := post("deregister", seen, "k"); code != 200 {
		t.Errorf("the same key again: %d %+v", code, f)
	}

	// Another registration of the node is another thing, whatever its version.
	s.live("n1")
	before := s.status("n1")
	if code, f := post("deregister", seen, ""); code != 412 || !strings.Contains(f.Message, "another registration") {
		t.Errorf("of another registration: %d %+v", code, f)
	}
	_, err := s.server.Trigger(t.Context(), "n1", machine.Deregister{}, registration.Call{If: &registration.Seen{RegistrationID: "other", Version: before.Version}})
	var lost *registration.MatchError
	if !errors.As(err, &lost) || !errors.Is(err, engine.ErrVersion) || !lost.Changed || lost.Now.Version != before.Version {
		t.Errorf("got %v", err)
	}
	if after := s.status("n1"); after.Version != before.Version {
		t.Errorf("it is at %+v", after)
	}
}

func etagOf(t *testing.T, url string) string {
	t.Helper()
	a, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Body.Close() }() // its header is enough
	tag := a.Header.Get(httpapi.HeaderETag)
	if !strings.HasPrefix(tag, `"`) {
		t.Fatalf("the status has the ETag %q", tag)
	}
	return tag
}
