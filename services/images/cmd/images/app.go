package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/user"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/fsmgen/fsmgen/adapters/devicemapper"
	"github.com/fsmgen/fsmgen/adapters/directory"
	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/services/images"
	"github.com/fsmgen/fsmgen/services/images/extract"
)

// app is what the flags say and where the output goes.
type app struct {
	dir, s3, buckets             string
	pool, poolMetadata, poolData string
	parallel                     int
	limits                       extract.Options
	validate, extract            time.Duration
	json                         bool

	out      io.Writer
	progress io.Writer
	terminal bool // progress is drawn over
}

// open makes the service that the flags describe.
func (a *app) open(ctx context.Context, listen images.Listener) (*images.Service, error) {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return nil, err
	}
	objects, err := a.objects(dir)
	if err != nil {
		return nil, usageError{err}
	}
	if a.parallel < 0 {
		return nil, usageError{fmt.Errorf("--parallel %d: it can't be negative", a.parallel)}
	}
	if err := a.limits.Validate(); err != nil {
		return nil, usageError{err}
	}
	if a.validate < 0 || a.extract < 0 {
		return nil, usageError{errors.New("--validate-timeout and --extract-timeout can't be negative")}
	}
	if (a.pool == "") != (a.poolMetadata == "" && a.poolData == "") {
		return nil, usageError{errors.New("--pool, --pool-metadata and --pool-data belong together")}
	}
	return images.Open(ctx, images.Options{
		Dir: dir, Objects: objects, Parallel: a.parallel, Listener: listen,
		Extract: a.limits, ValidateTimeout: a.validate, ExtractTimeout: a.extract,
		Volumes: func(_ context.Context, numbers images.Numbers) (images.Volumes, error) {
			return a.volumes(dir, numbers)
		},
		Logger: slog.New(slog.NewTextHandler(a.progress, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
}

func (a *app) objects(dir string) (images.Objects, error) {
	if a.s3 == "" {
		return s3.Directory{Root: cmp.Or(a.buckets, filepath.Join(dir, "bucket"))}, nil
	}
	o, err := s3.FromURL(a.s3)
	if err != nil {
		return nil, fmt.Errorf("--s3: %w", err)
	}
	return s3.New(o)
}

func (a *app) volumes(dir string, numbers images.Numbers) (images.Volumes, error) {
	if a.pool == "" {
		return directory.New(directory.Config{Root: filepath.Join(dir, "volumes")})
	}
	return devicemapper.New(devicemapper.Config{
		Pool: a.pool, Metadata: a.poolMetadata, Data: a.poolData, Mounts: filepath.Join(dir, "mounts"),
	}, numbers)
}

// with opens the service, calls f and closes it.
func (a *app) with(ctx context.Context, listen images.Listener, f func(*images.Service) error) (err error) {
	s, err := a.open(ctx, listen)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return f(s)
}

// process asks for an image and works on it, unless another process does.
func (a *app) process(ctx context.Context, bucket, key string) error {
	bars := newBars(a.progress, a.terminal)
	return a.with(ctx, bars.listen, func(s *images.Service) error {
		working, stop := context.WithCancel(ctx)
		ended := make(chan error, 1)
		go func() { ended <- s.Run(working) }()
		r, err := s.Process(ctx, bucket, key)
		stop()
		bars.end()
		if err := errors.Join(err, <-ended); err != nil {
			return err
		}
		if a.json {
			return a.print(r)
		}
		_, err = fmt.Fprintf(a.out, "%s is ready\n  snapshot  %s\n  at        %s\n  sha256    %s (%d bytes)\n", r.ImageID, r.SnapshotName, r.Path, r.Checksum, r.Size)
		return err
	})
}

func (a *app) serve(ctx context.Context) error {
	bars := newBars(a.progress, false)
	return a.with(ctx, bars.listen, func(s *images.Service) error {
		fmt.Fprintf(a.progress, "at work in %s\n", a.dir)
		return s.RunAlone(ctx)
	})
}

func (a *app) list(ctx context.Context) error {
	return a.with(ctx, nil, func(s *images.Service) error {
		list, err := s.Status(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.print(list)
		}
		if len(list) == 0 {
			_, err := fmt.Fprintln(a.out, "no image was asked for yet; begin with: images process-image --s3-key KEY")
			return err
		}
		w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "IMAGE\tDOWNLOAD\tUNPACKED\tACTIVATION\tRUN\tSTATE\t")
		for _, x := range list {
			fmt.Fprintf(w, "%s\t%s\t%v\t%s\t%s %s\t%s\t%s\n", x.ImageID, x.Download, x.Unpacked, x.Activation, x.Machine, x.RunID, x.State, because(x))
		}
		return w.Flush()
	})
}

// because says in a few words why a run is where it is.
func because(x images.Status) string {
	switch {
	case x.Stuck != "":
		return "stuck: " + x.Stuck + " failed; see docs/images.md"
	case x.Cause != "":
		return x.Reason + ": " + x.Cause
	}
	return x.Reason
}

func (a *app) gc(ctx context.Context) error {
	return a.with(ctx, nil, func(s *images.Service) error {
		c, err := s.GC(ctx)
		if err != nil {
			return err
		}
		if a.json {
			return a.print(c)
		}
		for _, name := range c.Volumes {
			fmt.Fprintln(a.out, "removed volume", name)
		}
		for _, path := range c.Files {
			fmt.Fprintln(a.out, "removed file", path)
		}
		for _, name := range c.InUse {
			fmt.Fprintln(a.out, "left volume", name, "alone: it is in use")
		}
		for _, name := range c.Missing {
			fmt.Fprintln(a.out, "volume", name, "is gone: the next process-image of its image makes it anew")
		}
		_, err = fmt.Fprintf(a.out, "%d volumes and %d files removed\n", len(c.Volumes), len(c.Files))
		return err
	})
}

func (a *app) resume(ctx context.Context, run, why string) error {
	return a.with(ctx, nil, func(s *images.Service) error {
		who := "images retry"
		if u, err := user.Current(); err == nil {
			who = u.Username
		}
		r, err := s.Retry(ctx, run, who, why)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(a.out, "%d effects of %s are tried again; a daemon, or the next process-image, does it\n", r.Requeued, run)
		return err
	})
}

func (a *app) print(v any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(v)
}
