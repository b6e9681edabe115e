//go:build unix

package images_test

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// TestOriginGone: the volume vanishes between the two machines. Activation says
// so; the next request makes the image anew.
func TestOriginGone(t *testing.T) {
	everywhere(t, func(t *testing.T, lab string) {
		work := newErrand(t, lab)
		work.dies(t, "before handle activate.create_snapshot")
		var device string
		if err := database(t, work.Dir).QueryRow("SELECT device_name FROM unpacked_images").Scan(&device); err != nil {
			t.Fatal(err)
		}
		if err := laboratories[lab].keeper(t, work.Dir).Destroy(t.Context(), device); err != nil {
			t.Fatal(err)
		}
		s := open(t, laboratories[lab], work.Dir)
		works(t, s)
		_, err := s.Process(t.Context(), "images", "a.tar")
		aborted(t, err, "activate", "origin_missing")
		if err != nil && !strings.Contains(err.Error(), images.ErrNoOrigin.Error()) {
			t.Errorf("%v does not say that the origin is gone", err)
		}
		if l := list(t, s); l[0].Activation != "failed" {
			t.Errorf("the status is %+v", l)
		}
		process(t, s, "a.tar")
		stand(t, lab, work.Dir, t.Errorf)
	})
}
