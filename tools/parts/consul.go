package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// consul is a Consul agent in its development mode, with ACLs that deny.
type consul struct {
	tools   string // the folder of the module
	program string
}

func (c *consul) name() string { return "consul" }

// find takes the program that CONSUL_BIN or the PATH names, and otherwise
// fetches Debian's. Where there is none, an agent in the tests' own process
// stands in for it.
func (c *consul) find(ctx context.Context, say logger) error {
	c.program = filepath.Join(c.tools, "bin", "consul")
	if named := os.Getenv("CONSUL_BIN"); named != "" {
		c.program = named
		if !isProgram(named) {
			return fmt.Errorf("CONSUL_BIN names %s, which is no program", named)
		}
		return nil
	}
	if found, err := exec.LookPath("consul"); err == nil {
		c.program = found
		return nil
	}
	if isProgram(c.program) {
		return nil
	}
	say("fetching Debian's consul")
	if err := fetchConsul(ctx, c.program); err != nil {
		return &dispensableError{
			instead: "only the in-process agent ran",
			env:     []string{"FSMGEN_CONSUL=absent"},
			err:     fmt.Errorf("put a consul on the PATH, or name it by CONSUL_BIN: %w", err),
		}
	}
	return nil
}

func (c *consul) start(ctx context.Context, dir string) (*running, error) {
	line, err := output(exec.CommandContext(ctx, c.program, "version"))
	if err != nil {
		return nil, err
	}
	version := consulVersion(line)
	var ports [3]int
	for i := range ports {
		if ports[i], err = freePort(); err != nil {
			return nil, err
		}
	}
	token := randomUUID()
	config := filepath.Join(dir, "config.json")
	if err := os.WriteFile(config, consulConfig(version, ports, token), 0o600); err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + strconv.Itoa(ports[0])
	server, err := c.serve(ctx, dir, config, "http://"+address, token)
	if err != nil {
		return nil, err
	}
	return &running{
		version: version,
		where:   "started, " + address,
		env:     []string{fmt.Sprintf("FSMGEN_CONSUL=http://:%s@%s", token, address)},
		stop:    server.stop,
	}, nil
}

// consulConfig has HTTP on the first port, and what servers tell one another on
// the others. Nothing else is opened.
func consulConfig(version string, ports [3]int, token string) []byte {
	type object = map[string]any
	open := object{"http": ports[0], "server": ports[1], "serf_lan": ports[2], "serf_wan": -1, "https": -1, "dns": -1, "grpc": -1}
	if atLeast(version, 1, 14) {
		open["grpc_tls"] = -1
	}
	management := "master"
	if atLeast(version, 1, 11) {
		management = "initial_management"
	}
	config, _ := json.Marshal(object{ // of texts and numbers it can't fail
		"bind_addr": "127.0.0.1", "client_addr": "127.0.0.1", "ports": open, "node_name": "fsmgen",
		"acl":                  object{"enabled": true, "default_policy": "deny", "tokens": object{management: token}},
		"disable_update_check": true, "log_level": "warn",
	})
	return config
}

// serve starts the agent and waits until it knows itself.
func (c *consul) serve(ctx context.Context, dir, config, address, token string) (*daemon, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.program, "agent", "-dev", "-config-file", config)
	cmd.Dir = dir
	return server{cmd, dir, syscall.SIGTERM, func(ctx context.Context) bool { return knowsItself(ctx, address, token) }}.start(ctx)
}

// knowsItself reports whether the agent has elected itself, knows the token, and
// is in its own catalog.
func knowsItself(ctx context.Context, address, token string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/v1/catalog/service/consul", nil)
	if err != nil {
		return false
	}
	request.Header.Set("X-Consul-Token", token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	var nodes []struct{ Node string }
	return json.NewDecoder(response.Body).Decode(&nodes) == nil && len(nodes) == 1
}

// consulVersion reads 1.8.7 from "Consul v1.8.7\n...".
func consulVersion(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return strings.TrimPrefix(line, "Consul v")
}

// atLeast compares a version like 1.8.7.
func atLeast(version string, major, minor int) bool {
	var have [2]int
	_, _ = fmt.Sscanf(version, "%d.%d", &have[0], &have[1]) // what is no version is an old one
	return have[0] > major || have[0] == major && have[1] >= minor
}

func randomUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
