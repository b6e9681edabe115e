package images

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Collected is what GC removed, and what it had to leave.
type Collected struct {
	Volumes []string `json:"volumes"`
	Files   []string `json:"files"`
	InUse   []string `json:"in_use"` // volumes that nothing refers to and that are in use
	// Missing are volumes that a row refers to and that are gone. The next run of
	// the image finds that out and builds them anew (document 002, Test Case 5).
	Missing []string `json:"missing"`
}

// GC removes what no row and no run refers to: volumes, tars and temporary
// files that a crash or another program left behind, whether or not they still
// have a name. Nothing is worked on meanwhile: ErrWorking if another process is
// at it.
func (s *Service) GC(ctx context.Context) (c Collected, err error) {
	err = s.alone(func() error {
		if err := s.collectVolumes(ctx, &c); err != nil {
			return fmt.Errorf("collect volumes: %w", err)
		}
		if err := s.collectFiles(ctx, &c); err != nil {
			return fmt.Errorf("collect files: %w", err)
		}
		return nil
	})
	return c, err
}

// collectVolumes compares what the keeper has, and the numbers that are given,
// with the rows.
func (s *Service) collectVolumes(ctx context.Context, c *Collected) error {
	stored, err := s.names(ctx, "SELECT device_name FROM unpacked_images UNION SELECT 'thin-' || snapshot_id FROM snapshots WHERE active")
	if err != nil {
		return err
	}
	needed, err := s.names(ctx, `
		SELECT 'thin-' || snapshot_id FROM snapshots
		UNION SELECT device_name FROM unpack_records WHERE device_name IS NOT NULL AND state NOT IN ('COMPLETE', 'aborted')
		UNION SELECT snapshot_device FROM activate_records WHERE state NOT IN ('COMPLETE', 'aborted')
		UNION SELECT device_name FROM activate_records WHERE state NOT IN ('COMPLETE', 'aborted')`)
	if err != nil {
		return err
	}
	kept, err := s.kept(ctx)
	if err != nil {
		return err
	}
	for _, name := range stored {
		if !slices.Contains(kept, name) {
			c.Missing = append(c.Missing, name)
		}
	}
	// A volume that was to be made and was not has a number only.
	numbered, err := s.names(ctx, "SELECT name FROM volume_numbers")
	if err != nil {
		return err
	}
	needed = append(needed, stored...)
	useless := slices.DeleteFunc(append(kept, numbered...), func(name string) bool { return slices.Contains(needed, name) })
	return s.destroy(ctx, useless, c)
}

// kept lists the volumes that the keeper has.
func (s *Service) kept(ctx context.Context) (names []string, err error) {
	volumes, err := s.volumes.List(ctx)
	for _, v := range volumes {
		names = append(names, v.Name)
	}
	return names, err
}

// destroy destroys snapshots before their origins: a name that is longer comes
// first.
func (s *Service) destroy(ctx context.Context, names []string, c *Collected) error {
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(len(b)-len(a), cmp.Compare(a, b)) })
	for _, name := range slices.Compact(names) {
		switch err := s.volumes.Destroy(ctx, name); {
		case errors.Is(err, ErrBusy):
			c.InUse = append(c.InUse, name)
		case err != nil:
			return err
		default:
			c.Volumes = append(c.Volumes, name)
		}
	}
	return nil
}

// collectFiles removes the files of images that have no row and no run.
func (s *Service) collectFiles(ctx context.Context, c *Collected) error {
	tars, err := s.names(ctx, `
		SELECT image_id FROM images WHERE local_path IS NOT NULL
		UNION SELECT image_id FROM download_records WHERE state NOT IN ('COMPLETE', 'aborted')
		UNION SELECT image_id FROM unpack_records WHERE state NOT IN ('COMPLETE', 'aborted')`)
	if err != nil {
		return err
	}
	temps, err := s.names(ctx, "SELECT image_id FROM download_records WHERE state NOT IN ('COMPLETE', 'aborted')")
	if err != nil {
		return err
	}
	for _, in := range []struct {
		folder, suffix string
		needed         []string
	}{{"tars", ".tar", tars}, {"temp", ".part", temps}} {
		entries, err := os.ReadDir(filepath.Join(s.files.dir, in.folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			image, ours := strings.CutSuffix(e.Name(), in.suffix)
			if !ours || slices.Contains(in.needed, image) {
				continue
			}
			path := filepath.Join(s.files.dir, in.folder, e.Name())
			if err := remove(path); err != nil {
				return err
			}
			c.Files = append(c.Files, path)
		}
	}
	return nil
}

func (s *Service) names(ctx context.Context, query string) (out []string, err error) {
	err = rows(ctx, s.store, func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		out = append(out, name)
		return err
	}, query)
	return out, err
}
