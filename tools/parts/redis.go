package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// redis is a Redis server that keeps nothing on the disk.
type redis struct {
	server string // the program
}

func (r *redis) name() string { return "redis" }

// find takes the server that REDIS_SERVER or the PATH names, and otherwise installs Debian's.
func (r *redis) find(ctx context.Context, say logger) error {
	if r.server = findRedis(); r.server != "" {
		return nil
	}
	if !canInstall() {
		return errors.New("redis-server is neither in REDIS_SERVER nor on the PATH: install redis-server, or set REDIS_SERVER")
	}
	say("installing Debian's redis-server")
	if err := installPackages(ctx, "redis-server"); err != nil {
		return err
	}
	if r.server = findRedis(); r.server == "" {
		return errors.New("redis-server was installed, yet it is not on the PATH")
	}
	return nil
}

func findRedis() string {
	if named := os.Getenv("REDIS_SERVER"); isProgram(named) {
		return named
	}
	found, _ := exec.LookPath("redis-server") // none is none
	return found
}

func (r *redis) start(ctx context.Context, dir string) (*running, error) {
	version, err := output(exec.CommandContext(ctx, r.server, "--version"))
	if err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	cmd := exec.CommandContext(context.WithoutCancel(ctx), r.server,
		"--bind", "127.0.0.1", "--port", strconv.Itoa(port), "--dir", dir, "--save", "", "--appendonly", "no")
	cmd.Dir = dir
	server, err := server{cmd, dir, syscall.SIGTERM, func(ctx context.Context) bool { return answersPing(ctx, address) }}.start(ctx)
	if err != nil {
		return nil, err
	}
	return &running{
		version: redisVersion(version),
		where:   "started, " + address,
		env:     []string{"FSMGEN_REDIS=" + address},
		stop:    server.stop,
	}, nil
}

// answersPing reports whether a Redis server is ready.
func answersPing(ctx context.Context, address string) bool {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return false
	}
	defer conn.Close()
	if until, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(until); err != nil {
			return false
		}
	}
	if _, err := fmt.Fprint(conn, "PING\r\n"); err != nil {
		return false
	}
	answer := make([]byte, len("+PONG"))
	n, _ := conn.Read(answer) // an error has no answer
	return string(answer[:n]) == "+PONG"
}

// redisVersion reads 7.0.15 from "Redis server v=7.0.15 sha=...".
func redisVersion(line string) string {
	_, rest, _ := strings.Cut(line, "v=")
	version, _, _ := strings.Cut(rest, " ")
	return version
}
