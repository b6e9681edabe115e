package main

import (
	"encoding/json"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

func TestConsulVariableComesFirst(t *testing.T) {
	program := filepath.Join(t.TempDir(), "consul")
	t.Setenv("CONSUL_BIN", program)
	c := consul{tools: t.TempDir()}
	if err := c.find(t.Context(), t.Logf); err == nil || (outcome{err: err}).dispensable() != nil {
		t.Errorf("a program that is not there: %v", err)
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := c.find(t.Context(), t.Logf); err != nil || c.program != program {
		t.Errorf("found %q, %v; want CONSUL_BIN", c.program, err)
	}
}

// Without a program and without apt there is nothing to be had.
func TestConsulIsDispensable(t *testing.T) {
	t.Setenv("CONSUL_BIN", "")
	t.Setenv("PATH", t.TempDir())
	c := consul{tools: t.TempDir()}
	reason := outcome{err: c.find(t.Context(), t.Logf)}.dispensable()
	if reason == nil || len(reason.env) != 1 || reason.env[0] != "FSMGEN_CONSUL=absent" {
		t.Errorf("the reason is %+v", reason)
	}
}

func TestConsulVersions(t *testing.T) {
	for text, want := range map[string]string{"Consul v1.8.7\nProtocol 2": "1.8.7", "Consul v1.22.0": "1.22.0"} {
		if got := consulVersion(text); got != want {
			t.Errorf("%q is version %q, want %q", text, got, want)
		}
	}
	for version, keys := range map[string][2]bool{ // grpc_tls, initial_management
		"1.8.7": {false, false}, "1.11.0": {false, true}, "1.14.2": {true, true}, "2.0.0": {true, true}, "weird": {false, false},
	} {
		var config struct {
			Ports map[string]int
			ACL   struct{ Tokens map[string]string }
		}
		if err := json.Unmarshal(consulConfig(version, [3]int{1, 2, 3}, "token"), &config); err != nil {
			t.Fatal(err)
		}
		_, grpc := config.Ports["grpc_tls"]
		_, initial := config.ACL.Tokens["initial_management"]
		if (keys != [2]bool{grpc, initial}) || config.Ports["http"] != 1 {
			t.Errorf("%s: %+v", version, config)
		}
	}
}

func TestDebianMirror(t *testing.T) {
	for release, want := range map[string]string{
		"ID=debian\nVERSION_CODENAME=bookworm\n":     "bookworm",
		"ID=\"debian\"\nVERSION_CODENAME=\"trixie\"": "trixie",
		"ID=ubuntu\nVERSION_CODENAME=noble":          "",
		"":                                           "",
	} {
		if got := codenameOf(release); got != want {
			t.Errorf("%q is %q, want %q", release, got, want)
		}
	}
	targets := "http://other.test/ stable\nhttp://mirror.test/debian/ bookworm-updates\nhttp://mirror.test/debian/ bookworm"
	if got := mirrorOf(targets, "bookworm"); got != "http://mirror.test/debian/" {
		t.Errorf("the mirror is %q", got)
	}
	if got := mirrorOf(targets, "trixie"); got != "" {
		t.Errorf("the mirror of a release without a source is %q", got)
	}
}

// A Consul agent lists its services only with a token.
func TestConsulAnswers(t *testing.T) {
	text := address(t, "FSMGEN_CONSUL")
	if text == "absent" {
		t.Skip("there is no Consul here: the summary says why")
	}
	agent, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	token, _ := agent.User.Password()
	if !knowsItself(t.Context(), "http://"+agent.Host, token) {
		t.Error("the agent does not know itself")
	}
	if knowsItself(t.Context(), "http://"+agent.Host, "") {
		t.Error("a request without a token is answered")
	}
	response, err := http.Get("http://" + agent.Host + "/v1/agent/self")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusForbidden {
		t.Errorf("answer = %s", response.Status)
	}
}
