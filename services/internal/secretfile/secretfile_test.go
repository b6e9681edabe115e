package secretfile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/services/internal/secretfile"
)

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := errors.Join(os.WriteFile(name, []byte(text), mode), os.Chmod(name, mode)); err != nil {
		t.Fatal(err)
	}
}

func anySecret(string) error { return nil }

// TestReadAgain: a file that changes is read again, and one that goes away has no secret.
func TestReadAgain(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "secrets")
	write(t, name, "one\n\n two \n", 0o600)
	f, err := secretfile.Open(name, anySecret)
	if err != nil {
		t.Fatal(err)
	}
	wants := func(want ...string) {
		t.Helper()
		if got, err := f.Secrets(); err != nil || !slices.Equal(got, want) {
			t.Errorf("got %q, %v, want %q", got, err, want)
		}
	}
	wants("one", "two")
	write(t, name, "ten\n", 0o600)
	wants("ten")
	write(t, name, "six\n", 0o600) // of the same size
	if err := os.Chtimes(name, time.Time{}, time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	wants("six")
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if got, err := f.Secrets(); !errors.Is(err, fs.ErrNotExist) || got != nil {
		t.Errorf("got %q, %v of a file that is gone", got, err)
	}
	write(t, name, "six\n", 0o600)
	wants("six")
}

// TestBadFiles: each says what is wrong with it.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	short := errors.New("a secret is too short")
	for text, want := range map[string]string{"": secretfile.ErrEmpty.Error(), " \n\n": secretfile.ErrEmpty.Error(), "long enough\nx\n": short.Error()} {
		name := filepath.Join(t.TempDir(), "secrets")
		write(t, name, text, 0o600)
		_, err := secretfile.Open(name, func(secret string) error {
			if len(secret) < 2 {
				return short
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), name+": "+want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	open := filepath.Join(t.TempDir(), "open")
	write(t, open, "secret\n", 0o644)
	if _, err := secretfile.Open(open, anySecret); err == nil || !strings.Contains(err.Error(), "chmod 600 "+open) {
		t.Errorf("a file for every user: %v", err)
	}
}
