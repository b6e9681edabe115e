package consul_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery"
)

const secret = "a-secret-token"

// answering is a client of a server that always answers so.
func answering(t *testing.T, handler http.HandlerFunc) *consul.Client {
	t.Helper()
	return open(t, consul.Options{Address: serve(t, handler), Token: secret, Timeout: time.Minute})
}

// serve returns the address of a server that lives as long as the test.
func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

func open(t testing.TB, o consul.Options) *consul.Client {
	t.Helper()
	c, err := consul.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func saying(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}
}

// every calls every method.
func every(ctx context.Context, c *consul.Client) map[string]error {
	s := discovery.Service{ID: "api-1", Name: "api", TTL: time.Minute, RegistrationID: "life"}
	_, names := c.Names(ctx)
	_, instances := c.Instances(ctx, "api")
	_, checks := c.Checks(ctx)
	_, sessions := c.Sessions(ctx)
	return map[string]error{
		"Register":       c.Register(ctx, s),
		"Heartbeat":      c.Heartbeat(ctx, "life"),
		"Deregister":     c.Deregister(ctx, "api-1", "life"),
		"Withdraw":       c.Withdraw(ctx, discovery.Instance{ID: "api-1", Name: "api", Node: "n", RegistrationID: "life"}),
		"RemoveCheck":    c.RemoveCheck(ctx, discovery.Check{ID: "check", Node: "n"}),
		"DestroySession": c.DestroySession(ctx, "00000000-0000-0000-0000-000000000000"),
		"Names":          names, "Instances": instances, "Checks": checks, "Sessions": sessions,
	}
}

func TestAnswersAreToldApart(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		status int
		body   string
		want   error
		says   string
	}{
		{400, "Missing service name", discovery.ErrInvalid, "Missing service name"},
		{413, "too large", discovery.ErrInvalid, "413"},
		{401, "", discovery.ErrNotPermitted, "401"},
		{403, "Permission denied", discovery.ErrNotPermitted, "token"},
		{500, "rpc error making call: Permission denied", discovery.ErrNotPermitted, "token"},
		{500, "rpc error making call: ACL not found", discovery.ErrNotPermitted, "token"},
		{429, "slow down", discovery.ErrServer, "slow down"},
		{500, "No cluster leader", discovery.ErrServer, "No cluster leader"},
		{503, "", discovery.ErrServer, "503"},
		{301, "", discovery.ErrServer, "not that of a Consul agent"},
		{404, "<html>not here</html>", discovery.ErrServer, "not that of a Consul agent"},
	} {
		for method, err := range every(t.Context(), answering(t, saying(tt.status, tt.body))) {
			var told *consul.Error
			if !errors.Is(err, tt.want) || !errors.As(err, &told) || told.Status != tt.status {
				t.Errorf("%s after %d %q: %v", method, tt.status, tt.body, err)
			} else if !strings.Contains(err.Error(), tt.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s after %d %q does not say %q: %v", method, tt.status, tt.body, tt.says, err)
			}
		}
	}
}

// Old and new words for what is not there.
func TestUnknownIsGone(t *testing.T) {
	t.Parallel()
	for body, status := range map[string]int{
		`Unknown service {"api-1" {}}`: 500,
		`Unknown service ID "api-1". Ensure that the service ID is passed, not the service name.`: 404,
		`unknown service ID: api-1`: 404,
	} {
		if err := answering(t, saying(status, body)).Deregister(t.Context(), "api-1", "life"); err != nil {
			t.Errorf("%d %s: %v", status, body, err)
		}
	}
	for body, status := range map[string]int{
		`Unknown check "registration:life"`: 500,
		`Unknown check ID "registration:life". Ensure that the check ID is passed, not the check name.`: 404,
		`CheckID "registration:life" does not have associated TTL`:                                      500,
	} {
		if err := answering(t, saying(status, body)).Heartbeat(t.Context(), "life"); !errors.Is(err, discovery.ErrNotAdvertised) {
			t.Errorf("%d %s: %v", status, body, err)
		}
	}
}

// A service that goes between the look and the deregistration is gone, too.
func TestGoneBetweenLookAndDeregistration(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 500} {
		c := answering(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				fmt.Fprint(w, `{"ID":"api-1","Meta":{"registration_id":"life"}}`)
				return
			}
			saying(status, `Unknown service ID "api-1"`)(w, r)
		})
		if err := c.Deregister(t.Context(), "api-1", "life"); err != nil {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestNonsenseIsNoAnswerOfConsul(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"<html>welcome</html>", `"text"`, `7`} {
		for method, err := range every(t.Context(), answering(t, saying(200, body))) {
			switch method {
			case "Register", "Heartbeat", "DestroySession": // Consul's own answer has no meaning
				if err != nil {
					t.Errorf("%s after %q: %v", method, body, err)
				}
			case "RemoveCheck", "Withdraw", "Deregister", "Names", "Instances", "Checks", "Sessions":
				if !errors.Is(err, discovery.ErrServer) || !strings.Contains(err.Error(), "not that of a Consul agent") {
					t.Errorf("%s after %q: %v", method, body, err)
				}
			}
		}
	}
	for _, body := range []string{"null", "{}", `{"ID":"api-2","Meta":{"registration_id":"life"}}`} {
		if err := answering(t, saying(200, body)).Deregister(t.Context(), "api-1", "life"); !errors.Is(err, discovery.ErrServer) {
			t.Errorf("deregister after %s: %v", body, err)
		}
	}
	for _, body := range []string{"[null]", `[{"Node":null}]`, "null", "[]"} {
		c := answering(t, saying(200, body))
		if found, err := c.Instances(t.Context(), "api"); err != nil || len(found) != 0 {
			t.Errorf("instances after %s: %v, %v", body, found, err)
		}
	}
	c := answering(t, saying(200, "[null]"))
	if found, err := c.Checks(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("checks: %v, %v", found, err)
	}
	if found, err := c.Sessions(t.Context()); err != nil || len(found) != 0 {
		t.Errorf("sessions: %v, %v", found, err)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 100)
	other := serve(t, func(_ http.ResponseWriter, r *http.Request) { asked <- r.Header.Get("X-Consul-Token") })
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other, http.StatusTemporaryRedirect)
	})
	for method, err := range every(t.Context(), c) {
		if !errors.Is(err, discovery.ErrServer) {
			t.Errorf("%s: %v", method, err)
		}
	}
	if len(asked) > 0 {
		t.Errorf("another server got the token %q", <-asked)
	}
}

func TestEndlessAnswerIsCutOff(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		tags := strings.Repeat(`"tag",`, 1<<12)
		fmt.Fprint(w, `{"api":[`)
		for _, err := fmt.Fprint(w, tags); err == nil; {
			_, err = fmt.Fprint(w, tags)
		}
	})
	if _, err := c.Names(t.Context()); !errors.Is(err, discovery.ErrServer) {
		t.Errorf("the error is %v", err)
	}
}

// An agent that stalls in the middle of its answer costs one timeout.
func TestStallInTheAnswer(t *testing.T) {
	t.Parallel()
	stalling := serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, `{"api":[`)
		_ = http.NewResponseController(w).Flush() // the client may have gone
		<-r.Context().Done()
	})
	_, err := open(t, consul.Options{Address: stalling, Timeout: 50 * time.Millisecond}).Names(t.Context())
	if !errors.Is(err, discovery.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v", err)
	}
}

func TestTokenIsSentAndNeverTold(t *testing.T) {
	t.Parallel()
	sent := make(chan string, 100)
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		sent <- r.Header.Get("X-Consul-Token")
		if r.URL.Query().Has("token") {
			t.Errorf("the token is in the URL: %s", r.URL)
		}
		saying(http.StatusForbidden, "Permission denied")(w, r)
	})
	for method, err := range every(t.Context(), c) {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v", method, err)
		}
	}
	close(sent)
	for token := range sent {
		if token != secret {
			t.Errorf("the token sent was %q", token)
		}
	}
}
