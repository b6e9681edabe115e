package consul_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/consul"
)

func TestFromURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]consul.Options{
		"http://127.0.0.1:8500":             {Address: "http://127.0.0.1:8500"},
		"https://:a%2Fb@consul.test:8501":   {Address: "https://consul.test:8501", Token: "a/b"},
		"http://any:token@[::1]:8500/below": {Address: "http://[::1]:8500/below", Token: "token"},
	} {
		if got, err := consul.FromURL(text); err != nil || got.Address != want.Address || got.Token != want.Token {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "127.0.0.1:8500", "unix:///socket", "http://", "http://:secret@host:port", "http://:secret@h?dc=1", "http://:sec%0aret@h"} {
		_, err := consul.FromURL(text)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Parallel()
	for _, o := range []consul.Options{
		{Timeout: -time.Second}, {Address: "http://:token@127.0.0.1"}, {Address: "ftp://127.0.0.1"}, {Token: "two\nlines"},
	} {
		if _, err := consul.New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
	if _, err := consul.New(consul.Options{}); err != nil {
		t.Errorf("the zero value: %v", err)
	}
}

// Another token of this machine's user is not sent.
func TestEnvironmentIsNotRead(t *testing.T) {
	t.Setenv("CONSUL_HTTP_TOKEN", "of-the-environment")
	t.Setenv("CONSUL_HTTP_TOKEN_FILE", "/no/such/file")
	t.Setenv("CONSUL_HTTP_ADDR", "127.0.0.1:1")
	t.Setenv("CONSUL_HTTP_SSL", "true")
	sent := make(chan string, 1)
	o := consul.Options{Address: serve(t, func(_ http.ResponseWriter, r *http.Request) { sent <- r.Header.Get("X-Consul-Token") })}
	if err := open(t, o).Heartbeat(t.Context(), "life"); err != nil {
		t.Fatal(err)
	}
	if token := <-sent; token != "" {
		t.Errorf("the token sent was %q", token)
	}
}
