//go:build unix

package images_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/services/images"
)

// TestAnotherSchemaIsRefused: the service does not open a database that lacks a trigger of
// one of its machines, and names it.
func TestAnotherSchemaIsRefused(t *testing.T) {
	t.Parallel()
	o := directories.options(t.TempDir())
	s, err := images.Open(t.Context(), o)
	if err == nil {
		err = s.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", filepath.Join(o.Dir, "images.db"))
	if err == nil {
		_, err = db.ExecContext(t.Context(), "DROP TRIGGER unpack_update")
	}
	if err = errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	_, err = images.Open(t.Context(), o)
	if !errors.Is(err, engine.ErrDrift) || !strings.Contains(err.Error(), "trigger unpack_update of unpack_records is not there") {
		t.Errorf("the error is %v", err)
	}
}
