//go:build linux || darwin

package directory

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume"
	"github.com/fsmgen/fsmgen/adapters/volume/volumetest"
)

// subject is a place under test.
type subject struct {
	*testing.T
	root string
}

func TestVolumes(t *testing.T) {
	volumetest.Run(t, func(t *testing.T) (volume.Volumes, volumetest.Tools) {
		s := &subject{t, filepath.Join(t.TempDir(), "place")}
		return s.reopen(nil), s.tools()
	})
}

// tools has no reboot to do: a directory is none the worse for one.
func (s *subject) tools() volumetest.Tools {
	return volumetest.Tools{Reopen: s.reopen, Reboot: func() {}, Debris: s.debris}
}

func (s *subject) reopen(step func(string) error) volume.Volumes {
	s.Helper()
	v, err := New(Config{Root: s.root, Step: step})
	if err != nil {
		s.Fatal(err)
	}
	return v
}

func (s *subject) debris() []string {
	s.Helper()
	v := &Volumes{config: Config{Root: s.root}.withDefaults()} // New would sweep
	var found []string
	for _, folder := range []string{makingFolder, trashFolder, volumesFolder} {
		entries, err := os.ReadDir(filepath.Join(s.root, folder))
		if err != nil {
			s.Fatal(err)
		}
		for _, e := range entries {
			if seen, err := v.Look(s.Context(), e.Name()); folder != volumesFolder || err != nil || seen.Condition == volume.Absent {
				found = append(found, filepath.Join(folder, e.Name()))
			}
		}
	}
	return found
}
