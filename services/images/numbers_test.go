//go:build unix

package images_test

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// numbersIn opens a service and returns the numbers that it gives.
func numbersIn(t *testing.T, dir string) (n images.Numbers) {
	t.Helper()
	o := directories.options(dir)
	volumes := o.Volumes
	o.Volumes = func(ctx context.Context, numbers images.Numbers) (images.Volumes, error) {
		n = numbers
		return volumes(ctx, numbers)
	}
	s, err := images.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

// TestNumbersAreGivenOnce: the number that a name prefers or the next that is
// free, and the same ever after, be it asked for by another process.
func TestNumbersAreGivenOnce(t *testing.T) {
	dir := t.TempDir()
	a, b := numbersIn(t, dir), numbersIn(t, dir)
	id, preferred := preferred("a.tar")
	name := "thin-" + id
	gives := func(n images.Numbers, want uint32, taken ...uint32) {
		t.Helper()
		if got, err := n.Number(t.Context(), name, taken); err != nil || got != want {
			t.Errorf("%s has the number %d, %v, want %d", name, got, err, want)
		}
	}
	gives(a, preferred)
	gives(b, preferred, preferred) // its own may be in the pool already
	for _, n := range []images.Numbers{a, b} {
		if err := n.Release(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
	gives(b, preferred+2, preferred, preferred+1)
	gives(a, preferred+2)
}

// TestNumbersDiffer: whoever asks at the same time.
func TestNumbersDiffer(t *testing.T) {
	dir := t.TempDir()
	a, b := numbersIn(t, dir), numbersIn(t, dir)
	var all sync.WaitGroup
	for _, key := range []string{firstNumber, secondNumber, firstKey, "a.tar"} {
		id, _ := preferred(key)
		for _, n := range []images.Numbers{a, b} {
			all.Go(func() {
				if _, err := n.Number(t.Context(), "thin-"+id, nil); err != nil {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	names, err := a.Names(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	given := slices.Sorted(maps.Values(names))
	if len(given) != 4 || len(slices.Compact(given)) != 4 {
		t.Errorf("the numbers are %v", names)
	}
}
