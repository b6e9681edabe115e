//go:build unix

package images_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/services/images"
	"github.com/fsmgen/fsmgen/services/images/extract"
)

// TestLimitsNameThemselves: what an image exceeds, and which option changes it, is
// in the error and in the status. Nothing of the image is left.
func TestLimitsNameThemselves(t *testing.T) {
	t.Parallel()
	const remedy = "change the option of that name of images daemon and process-image"
	for _, tt := range []struct {
		object  []byte
		options images.Options
		reason  string
		status  string
		says    []string
	}{
		{imageTar(t, 1), images.Options{Extract: extract.Options{MaxBytes: 1000}}, "file_invalid", "failed", []string{"the limit is max-bytes 1000", remedy}},
		{imageTar(t, 1), images.Options{Extract: extract.Options{MaxFiles: 3}}, "file_invalid", "failed", []string{"the limit is max-files 3", remedy}},
		{imageTar(t, 1), images.Options{Extract: extract.Options{MaxHeaders: 2000}}, "file_invalid", "failed", []string{"the limit is max-headers 2000", remedy}},
		{bomb(t), images.Options{}, "file_invalid", "failed", []string{"the limit is max-ratio 200", remedy}},
		{rooted(t), images.Options{Extract: extract.Options{Privileges: extract.RefusePrivileges}}, "file_invalid", "failed", []string{`"usr/su"`, "the limit is privileges refuse", remedy}},
		{imageTar(t, 1), images.Options{ValidateTimeout: time.Nanosecond}, "validation_failed", "pending", []string{"takes longer than allowed: 1ns (validate-timeout)", "give it more time"}},
	} {
		t.Run(strings.ReplaceAll(tt.says[0], " ", "-"), func(t *testing.T) {
			t.Parallel()
			tt.options.Objects = s3Directory(t, map[string][]byte{"a.tar": tt.object})
			s := newSite(t, tt.options)
			s.fails("images", "a.tar", "download", tt.reason, tt.status, tt.says...)
			s.leaves(0, 0)
		})
	}
}

// TestStrippedPrivilegesAreLogged: by default no file of a snapshot is set-user-ID,
// and the log says that there was one.
func TestStrippedPrivilegesAreLogged(t *testing.T) {
	t.Parallel()
	dir := place(t, "directory")
	put(t, dir, "a.tar", rooted(t))
	var log lines
	o := laboratories["directory"].options(dir)
	o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	s, err := images.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	works(t, s)
	r := process(t, s, "a.tar")
	if info, err := os.Stat(filepath.Join(r.Path, "usr", "su")); err != nil || info.Mode()&os.ModeSetuid != 0 {
		t.Errorf("usr/su has the mode %v: %v", info.Mode(), err)
	}
	if text := log.String(); !strings.Contains(text, "privileges=keep keeps them") || !strings.Contains(text, "files=1") {
		t.Errorf("the log is %q", text)
	}
}

// lines is a log that several goroutines write.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// rooted is an image with a file that runs as root.
func rooted(t *testing.T) []byte {
	t.Helper()
	headers := []tar.Header{{Name: "usr/su", Typeflag: tar.TypeReg, Mode: 0o4755}}
	for _, name := range []string{"rootfs/", "etc/", "var/"} {
		headers = append(headers, tar.Header{Name: name, Typeflag: tar.TypeDir, Mode: 0o755})
	}
	return archive(t, headers...)
}

// bomb is a small object that unpacks to a large archive.
func bomb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	packed := gzip.NewWriter(&b)
	w := tar.NewWriter(packed)
	const size = 80 << 20
	if err := w.WriteHeader(&tar.Header{Name: "zeros", Typeflag: tar.TypeReg, Mode: 0o644, Size: size}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(make([]byte, size)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []interface{ Close() error }{w, packed} {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
