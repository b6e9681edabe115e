package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/gofrs/flock"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/internal/racing"

	"github.com/fsmgen/fsmgen/internal/progress"
)

func TestMain(m *testing.M) {
	if err := racing.HurryChildren(); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){"images": main})
}

// TestScript runs testdata/script with the command as a process of its own.
// FSMGEN_GOLDEN=1 rewrites what they expect.
func TestScript(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       os.Getenv("FSMGEN_GOLDEN") != "",
		RequireUniqueNames:  true,
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"image": makeImage, "bucket": makeBucket, "upload": upload, "atwork": atWork,
		},
		Setup: func(env *testscript.Env) error {
			env.Setenv(racing.Variable, os.Getenv(racing.Variable))
			return nil
		},
		Condition: condition,
	})
}

// TestExitCodes: scripts can't tell one failure from another, callers can.
func TestExitCodes(t *testing.T) {
	for want, lines := range map[int][]string{
		0:          {"", "status", "status --json", "gc", "process-image --help"},
		exitFailed: {"process-image --s3-key none.tar", "retry 1f0c8f0e-93d3-4c1a-8f6e-6f1e5a2c4b7d"},
		exitUsage: {"process-image", "stats", "status now", "status --jsn", "retry", "gc --s3 nowhere",
			"status --pool p", "daemon --privileges some", "daemon --max-bytes -1", "process-image --s3-key a --validate-timeout -1s", "daemon --parallel many", "daemon --parallel -1"},
	} {
		for _, line := range lines {
			c := exec.Command("images", strings.Fields(line)...)
			c.Dir = t.TempDir()
			out, err := c.CombinedOutput()
			if code := c.ProcessState.ExitCode(); code != want {
				t.Errorf("images %s: exit code %d, want %d: %v\n%s", line, code, want, err, out)
			}
		}
	}
}

// condition is "s3" where the real server is, and where it has to be.
func condition(name string) (bool, error) {
	if name != "s3" {
		return false, fmt.Errorf("unknown condition %q", name)
	}
	isThere := os.Getenv("FSMGEN_S3") != ""
	if !isThere && parts.Required() {
		return false, errors.New("FSMGEN_S3 is not set")
	}
	return isThere, nil
}

// makeImage writes an image: image FILE KILOBYTES. Its bytes are always the same.
func makeImage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: image FILE KILOBYTES")
	}
	kilobytes, err := strconv.Atoi(args[1])
	ts.Check(err)
	file := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(filepath.Dir(file), 0o755))
	archive, err := archiveOf(kilobytes << 10)
	ts.Check(err)
	ts.Check(os.WriteFile(file, archive, 0o644))
}

func archiveOf(size int) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range []string{"rootfs/", "etc/", "usr/", "var/"} {
		if err := w.WriteHeader(&tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return nil, err
		}
	}
	err := w.WriteHeader(&tar.Header{Name: "usr/hello", Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(size)})
	if err == nil {
		_, err = w.Write(bytes.Repeat([]byte{'x'}, size))
	}
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}

// makeBucket makes a bucket of its own on the real server: bucket. The command
// finds the endpoint in IMAGES_S3, and the script the bucket in BUCKET.
func makeBucket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 0 {
		ts.Fatalf("usage: bucket")
	}
	name := fmt.Sprintf("command-%d-%s", os.Getpid(), filepath.Base(ts.Getenv("WORK")))
	_, err := client(ts).CreateBucket(context.Background(), &sdk.CreateBucketInput{Bucket: &name})
	ts.Check(err)
	ts.Setenv("BUCKET", name)
	ts.Setenv("IMAGES_S3", os.Getenv("FSMGEN_S3"))
}

// upload stores a file: upload FILE KEY.
func upload(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: upload FILE KEY")
	}
	file, err := os.Open(ts.MkAbs(args[0]))
	ts.Check(err)
	defer file.Close()
	bucket := ts.Getenv("BUCKET")
	_, err = client(ts).PutObject(context.Background(), &sdk.PutObjectInput{Bucket: &bucket, Key: &args[1], Body: file})
	ts.Check(err)
}

// atWork waits until somebody works in a folder: atwork FOLDER.
func atWork(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: atwork FOLDER")
	}
	for w := (progress.Watch{}); ; {
		lock := flock.New(filepath.Join(ts.MkAbs(args[0]), "worker.lock"), flock.SetFlag(os.O_RDWR))
		held, err := lock.TryLock()
		if err == nil && !held {
			return
		}
		_ = lock.Close() // it was only tried
		if stuck := w.Pause(context.Background(), nil); stuck != nil {
			ts.Fatalf("waiting for a worker in %s: %v (%v)", args[0], stuck, err)
		}
	}
}

func client(ts *testscript.TestScript) *sdk.Client {
	o, err := s3.FromURL(os.Getenv("FSMGEN_S3"))
	ts.Check(err)
	return sdk.New(sdk.Options{BaseEndpoint: &o.Endpoint, Region: o.Region, Credentials: o.Credentials, UsePathStyle: true})
}
