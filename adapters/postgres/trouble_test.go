package postgres

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestTroubleOfTheServer raises an error of each class in a caller's own statement:
// only what is about the statement itself stays the caller's error.
func TestTroubleOfTheServer(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	s := d.store(t)
	for _, tt := range []struct {
		code string
		is   string // "": neither
	}{
		{"40001", "conflict"}, {"40P01", "conflict"}, {"55P03", "conflict"},
		{"25006", "store"},
		{"53100", "store"}, {"53200", "store"}, {"57014", "store"},
		{"58030", "store"}, {"XX000", "store"},
		{"22012", ""}, {"23505", ""}, {"42P01", ""}, {"P0001", ""},
	} {
		t.Run(tt.code, func(t *testing.T) {
			err := s.InTx(t.Context(), func(tx pgx.Tx) error {
				_, err := tx.Exec(t.Context(), fmt.Sprintf("DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '%s'; END $$", tt.code))
				return &engine.HandlerError{Machine: "deal", ID: "1", Effect: "pay", Err: err}
			})
			for name, sentinel := range map[string]error{"conflict": store.ErrConflict, "store": store.ErrStore} {
				if errors.Is(err, sentinel) != (tt.is == name) {
					t.Errorf("%v is of the kind %q, want %q", err, name, tt.is)
				}
			}
		})
	}
}

// TestTheTimeOfTheServer is between two readings of the local clock, as both are here.
func TestTheTimeOfTheServer(t *testing.T) {
	s := openDatabase(t).store(t)
	before := time.Now().Add(-time.Second) // clocks of one machine are read by two programs
	now, err := s.Time(t.Context())
	if err != nil || now.Before(before) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("it is %v, %v", now, err)
	}
}
