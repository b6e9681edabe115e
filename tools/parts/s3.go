package main

import (
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	// s3Start bounds the wait for a server on a busy machine.
	s3Start = 60 * time.Second

	s3Package = "github.com/versity/versitygw/cmd/versitygw"
	s3Access  = "fsmgen"
	s3Secret  = "fsmgen-secret"
)

// s3 is an S3 server, versitygw, with an empty directory of its own.
type s3 struct {
	tools  string // the module that pins its version
	server string // the program
}

func (s *s3) name() string { return "s3" }

// find takes the server that VERSITYGW or the PATH names, and otherwise builds
// the one that go.mod of the tools pins, unless that is built already.
func (s *s3) find(ctx context.Context, say logger) error {
	if s.server = findServer(); s.server != "" {
		return nil
	}
	if _, err := exec.LookPath("go"); err != nil {
		return errors.New("versitygw is neither in VERSITYGW nor on the PATH, and there is no go command to build it")
	}
	built := filepath.Join(s.tools, "bin", "versitygw")
	if !isProgram(built) {
		say("building the pinned versitygw; this takes a minute or two")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", built, s3Package)
	cmd.Dir = s.tools
	if err := runQuietly(cmd); err != nil {
		return err
	}
	s.server = built
	return nil
}

func findServer() string {
	if named := os.Getenv("VERSITYGW"); isProgram(named) {
		return named
	}
	found, _ := exec.LookPath("versitygw") // none is none
	return found
}

func (s *s3) start(ctx context.Context, dir string) (*running, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	address := "127.0.0.1:" + strconv.Itoa(port)
	server, err := s.serve(ctx, dir, address)
	if err != nil {
		return nil, err
	}
	return &running{
		version: serverVersion(s.server),
		where:   "started, " + address,
		env:     []string{fmt.Sprintf("FSMGEN_S3=http://%s:%s@%s?region=us-east-1", s3Access, s3Secret, address)},
		stop:    server.stop,
	}, nil
}

// serve starts the server and waits until it answers.
func (s *s3) serve(ctx context.Context, dir, address string) (*daemon, error) {
	buckets, metadata := filepath.Join(dir, "buckets"), filepath.Join(dir, "metadata")
	for _, d := range []string{buckets, metadata} {
		if err := os.Mkdir(d, 0o755); err != nil {
			return nil, err
		}
	}
	// The context does not end the server: stop does, after the command. What
	// it knows of its objects is in a directory beside them, so the file system
	// needs no extended attributes.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.server,
		"--port", address, "--health", "/health", "--quiet", "posix", "--sidecar", metadata, buckets)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3Access, "ROOT_SECRET_KEY="+s3Secret)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log

	server, err := startDaemon(cmd, syscall.SIGTERM)
	if err != nil {
		return nil, err
	}
	if err := awaitS3(ctx, server, "http://"+address+"/health"); err != nil {
		written, _ := os.ReadFile(log.Name())
		return nil, errors.Join(fmt.Errorf("%w%s", err, lastLines(string(written), 12)), server.stop())
	}
	return server, nil
}

// awaitS3 asks the server for its health until it answers.
func awaitS3(ctx context.Context, server *daemon, health string) error {
	ctx, cancel := context.WithTimeout(ctx, s3Start)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server was not ready: %w", ctx.Err())
		case <-server.ended:
			return fmt.Errorf("the server ended at once: %v", server.cmd.ProcessState)
		case <-tick.C:
		}
		if answers(ctx, health) {
			return nil
		}
	}
}

func answers(ctx context.Context, url string) bool {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return false
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

// serverVersion reads the version that a program was built from.
func serverVersion(program string) string {
	info, err := buildinfo.ReadFile(program)
	if err != nil || info.Main.Version == "" {
		return "unknown version"
	}
	return "versitygw " + info.Main.Version
}
