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
)

const (
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
	// What the server knows of its objects is in a directory beside them, so the
	// file system needs no extended attributes.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), s.server,
		"--port", address, "--health", "/health", "--quiet", "posix", "--sidecar", metadata, buckets)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+s3Access, "ROOT_SECRET_KEY="+s3Secret)
	isReady := func(ctx context.Context) bool { return answers(ctx, "http://"+address+"/health") }
	return server{cmd, dir, syscall.SIGTERM, isReady}.start(ctx)
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
