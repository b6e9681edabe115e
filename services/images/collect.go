package images

import (
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
	InUse   []string `json:"in_use"` // volumes that nothing refers to and somebody uses
}

// GC removes what no row and no run refers to: volumes, tars and temporary
// files that a crash or another program left behind. Nothing is worked on
// meanwhile: ErrWorking if another process is at it.
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

// collectVolumes destroys snapshots before their origins: a name that is longer
// comes first.
func (s *Service) collectVolumes(ctx context.Context, c *Collected) error {
	needed, err := s.names(ctx, `
		SELECT device_name FROM unpacked_images
		UNION SELECT 'thin-' || snapshot_id FROM snapshots
		UNION SELECT device_name FROM unpack_records WHERE device_name IS NOT NULL AND state NOT IN ('COMPLETE', 'aborted')
		UNION SELECT snapshot_device FROM activate_records WHERE state NOT IN ('COMPLETE', 'aborted')
		UNION SELECT device_name FROM activate_records WHERE state NOT IN ('COMPLETE', 'aborted')`)
	if err != nil {
		return err
	}
	volumes, err := s.volumes.List(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(volumes, func(a, b Volume) int { return len(b.Name) - len(a.Name) })
	for _, v := range volumes {
		if slices.Contains(needed, v.Name) {
			continue
		}
		switch err := s.volumes.Destroy(ctx, v.Name); {
		case errors.Is(err, ErrBusy):
			c.InUse = append(c.InUse, v.Name)
		case err != nil:
			return err
		default:
			c.Volumes = append(c.Volumes, v.Name)
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
	err = rows(ctx, s.db, func(r *sql.Rows) error {
		var name string
		err := r.Scan(&name)
		out = append(out, name)
		return err
	}, query)
	return out, err
}
