package images

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// asked is a keeper that only counts.
type asked struct {
	Volumes
	looked int
}

func (a *asked) Look(_ context.Context, name string) (Volume, error) {
	a.looked++
	return Volume{Name: name, Condition: Absent}, nil
}

// TestStandingVolumesAreNotAskedAfter: what can't be seen to stand is.
func TestStandingVolumesAreNotAskedAfter(t *testing.T) {
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, stands := range map[string]bool{dir: true, file: false, "": false, filepath.Join(dir, "gone"): false, os.DevNull: false} {
		a := &asked{}
		where, exists, err := usable(t.Context(), a, "thin-0badcafe", path)
		if err != nil || exists != stands || stands != (a.looked == 0) || stands && where != path {
			t.Errorf("%q: at %q, there: %v, asked %d times: %v", path, where, exists, a.looked, err)
		}
	}
}

// TestAMappedDeviceHasItsName: of a node in /dev only the device behind it
// counts.
func TestAMappedDeviceHasItsName(t *testing.T) {
	for _, tt := range []struct {
		name, suspended, size string
		want                  bool
	}{
		{"thin-0badcafe\n", "0\n", "131072\n", true},
		{"another\n", "0\n", "131072\n", false},
		{"thin-0badcafe\n", "1\n", "131072\n", false},
		{"thin-0badcafe\n", "0\n", "0\n", false}, // it has no table
		{"", "0\n", "131072\n", false},
	} {
		sys := t.TempDir()
		err := os.Mkdir(filepath.Join(sys, "dm"), 0o755)
		for file, text := range map[string]string{"dm/name": tt.name, "dm/suspended": tt.suspended, "size": tt.size} {
			err = errors.Join(err, os.WriteFile(filepath.Join(sys, file), []byte(text), 0o600))
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := mapped(sys, "thin-0badcafe"); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
	if mapped(t.TempDir(), "thin-0badcafe") {
		t.Error("what /sys does not show was seen")
	}
}
