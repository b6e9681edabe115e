package main

import (
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestVersitygwVariableComesFirst(t *testing.T) {
	program := filepath.Join(t.TempDir(), "server")
	t.Setenv("VERSITYGW", program)
	if got := findServer(); got == program {
		t.Error("a program that is not there was taken")
	}
	if err := os.WriteFile(program, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := findServer(); got != program {
		t.Errorf("found %q, want VERSITYGW", got)
	}
}

func TestServerVersion(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{program, program + "-missing"} {
		if got := serverVersion(p); got == "" {
			t.Errorf("%s has no version", p)
		}
	}
}

// An S3 server lists its buckets only for signed requests.
func TestS3Answers(t *testing.T) {
	endpoint, err := url.Parse(address(t, "FSMGEN_S3"))
	if err != nil {
		t.Fatal(err)
	}
	if secret, ok := endpoint.User.Password(); !ok || secret == "" || endpoint.Query().Get("region") == "" {
		t.Errorf("FSMGEN_S3 lacks a secret or a region")
	}
	response, err := http.Get("http://" + endpoint.Host + "/")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if kind := response.Header.Get("Content-Type"); response.StatusCode != http.StatusForbidden || !strings.Contains(kind, "xml") {
		t.Errorf("answer = %s, %s", response.Status, kind)
	}
}
