//go:build unix

package images_test

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/directory"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/images"
)

// A site is a service at work, with its volumes in directories, and with
// everything around it that a test of a fault looks at.
type site struct {
	*testing.T
	dir     string // of the service
	service *images.Service
	keeper  images.Volumes
	stop    func() // ends the work; the end of the test does it as well
}

// newSite opens one in which time runs fast, so that the pauses between the
// repeats of the table pass.
func newSite(t *testing.T, o images.Options) *site {
	t.Helper()
	s := &site{T: t}
	if o.Dir == "" {
		o.Dir = filepath.Join(t.TempDir(), "state")
	}
	s.dir = o.Dir
	if o.Volumes == nil {
		o.Volumes = volumesBelow(filepath.Join(o.Dir, "volumes"))
	}
	keep := o.Volumes
	o.Volumes = func(ctx context.Context, n images.Numbers) (v images.Volumes, err error) {
		v, err = keep(ctx, n)
		s.keeper = v
		return v, err
	}
	// Nothing dies here, and a minute passes in a second: a machine that is slow must
	// neither lose a lease nor run into the time of an extraction.
	const long = 1000 * time.Hour
	o.Lease, o.ExtractTimeout, o.ValidateTimeout = long, cmp.Or(o.ExtractTimeout, long), cmp.Or(o.ValidateTimeout, long)
	o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	change := o.Engine
	o.Engine = func(c *engine.Config) {
		c.Clock, c.PollInterval = hasty{time.Now()}, 20*time.Millisecond
		if change != nil {
			change(c)
		}
	}
	var err error
	if s.service, err = images.Open(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.service.Run(ctx) }()
	s.stop = func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		ended <- nil
	}
	t.Cleanup(func() {
		s.stop()
		if err := s.service.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// hasty is a clock on which a minute takes a second.
type hasty struct{ began time.Time }

func (h hasty) Now() time.Time { return h.began.Add(60 * time.Since(h.began)) }

func volumesBelow(root string) func(context.Context, images.Numbers) (images.Volumes, error) {
	return func(context.Context, images.Numbers) (images.Volumes, error) {
		return directory.New(directory.Config{Root: root})
	}
}

// fails asks for an image, which has to end as aborted for this reason, with a
// cause that says something, and with this download_status.
func (s *site) fails(bucket, key, machine, reason, status string, says ...string) {
	s.Helper()
	_, err := s.service.Process(s.Context(), bucket, key)
	var aborted *images.AbortedError
	if !errors.As(err, &aborted) || aborted.Machine != machine || aborted.Reason != reason {
		s.Fatalf("it ended with %v, want %s aborted for %s", err, machine, reason)
	}
	for _, part := range says {
		if !strings.Contains(err.Error(), part) {
			s.Errorf("%q does not say %q", err, part)
		}
	}
	list, err := s.service.Status(s.Context())
	if err != nil || len(list) != 1 || list[0].Download != status || list[0].State != "aborted" || list[0].Activation == "active" {
		s.Errorf("the status is %+v: %v", list, err)
	}
}

// leaves compares what is there, once all has come to rest, with so many tars and
// volumes; no temporary file and no mount is ever left.
func (s *site) leaves(tars, volumes int) {
	s.Helper()
	s.rests()
	for folder, want := range map[string]int{"tars": tars, "temp": 0} {
		if there, err := os.ReadDir(filepath.Join(s.dir, folder)); err != nil || len(there) != want {
			s.Errorf("%v in %s, want %d: %v", there, folder, want, err)
		}
	}
	there, err := s.keeper.List(s.Context())
	if err != nil || len(there) != volumes {
		s.Errorf("the volumes are %v, want %d: %v", there, volumes, err)
	}
	for _, v := range there {
		if v.Mounted != "" {
			s.Errorf("%s is mounted", v.Name)
		}
	}
}

// rests waits until no effect is left to be carried out.
func (s *site) rests() {
	s.Helper()
	db := s.database()
	progress.Until(s, "the effects that are left over", func() (any, bool) {
		var open int
		if err := db.QueryRow("SELECT count(*) FROM fsm_outbox WHERE state <> 'delivered' AND NOT cancelled").Scan(&open); err != nil {
			s.Fatal(err)
		}
		return open, open == 0
	})
}

func (s *site) database() *sql.DB {
	s.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.dir, "images.db")+"?mode=ro")
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { db.Close() })
	return db
}

// ready asks for an image, which has to become that of an archive, and leaves
// nothing that a collection would find.
func (s *site) ready(bucket, key string, archive []byte) images.Result {
	s.Helper()
	r, err := s.service.Process(s.Context(), bucket, key)
	if err != nil {
		s.Fatal(err)
	}
	sum := sha256.Sum256(archive)
	if want := hex.EncodeToString(sum[:]); r.Checksum != want || r.Size != int64(len(archive)) {
		s.Errorf("%d bytes with checksum %s, want %d with %s", r.Size, r.Checksum, len(archive), want)
	}
	s.holds(r.Path, archive)
	s.rests()
	s.stop()
	if c, err := s.service.GC(s.Context()); err != nil || len(c.Volumes)+len(c.Files)+len(c.InUse) > 0 {
		s.Errorf("a collection found %+v: %v", c, err)
	}
	return r
}

// holds compares a folder with the regular files of an archive.
func (s *site) holds(root string, archive []byte) {
	s.Helper()
	files := 0
	for r := tar.NewReader(bytes.NewReader(archive)); ; files++ {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			s.Fatal(err)
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		want, err := io.ReadAll(r)
		if err != nil {
			s.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(root, h.Name)); err != nil || !bytes.Equal(got, want) {
			s.Errorf("%s is not what the archive holds: %v", h.Name, err)
		}
	}
	if files == 0 {
		s.Error("the archive is empty")
	}
}
