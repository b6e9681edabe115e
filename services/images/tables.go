package images

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// store is where records and tables are. What is written has to wait for the one
// who writes; what is only read does not.
type store struct {
	engine.Store[*sql.Tx]
	reader *sql.DB
}

// schema is what the service keeps beside the tables of the machines.
const schema = `
-- Which device an image has. A row is never changed: see deviceID.
CREATE TABLE IF NOT EXISTS image_devices (
    image_id  text NOT NULL PRIMARY KEY,
    device_id text NOT NULL UNIQUE
) STRICT;

-- Which number a thin device has in its pool: 24 bits, given once.
CREATE TABLE IF NOT EXISTS volume_numbers (
    name   text    NOT NULL PRIMARY KEY,
    number integer NOT NULL UNIQUE CHECK (number BETWEEN 0 AND 16777215)
) STRICT;

-- Files whose checksum was computed, as they were then. A file that is still so
-- has that checksum.
CREATE TABLE IF NOT EXISTS checked_files (
    path     text    NOT NULL PRIMARY KEY,
    size     integer NOT NULL,
    modified integer NOT NULL,
    inode    integer NOT NULL,
    checksum text    NOT NULL
) STRICT;

-- Why a run found its file, or the layout in it, wanting: what a person is told.
CREATE TABLE IF NOT EXISTS verdicts (
    run_id text NOT NULL PRIMARY KEY,
    why    text NOT NULL
) STRICT;

-- The runs of an image, in their order, without reading those of all others.
CREATE INDEX IF NOT EXISTS download_runs ON download_records (image_id, created_at);
CREATE INDEX IF NOT EXISTS unpack_runs ON unpack_records (image_id, created_at);
CREATE INDEX IF NOT EXISTS activate_runs ON activate_records (image_id, created_at);
CREATE INDEX IF NOT EXISTS unpacked_device ON unpacked_images (device_id);
CREATE INDEX IF NOT EXISTS snapshots_image ON snapshots (image_id)`

func createTables(ctx context.Context, s store) error {
	return s.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, schema)
		return err
	})
}

// row reads one row; found is false where there is none.
func row(ctx context.Context, s store, query string, args []any, into ...any) (found bool, err error) {
	err = s.reader.QueryRowContext(ctx, query, args...).Scan(into...)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look up: %w", err)
	}
	return true, nil
}

// rows calls read for each row.
func rows(ctx context.Context, s store, read func(*sql.Rows) error, query string, args ...any) error {
	found, err := s.reader.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = found.Close() }() // what Err returns is what counts
	for found.Next() {
		if err := read(found); err != nil {
			return err
		}
	}
	return found.Err()
}

// judge keeps why a run found something wanting.
func judge(ctx context.Context, s store, run, why string) error {
	return s.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO verdicts VALUES (?, ?)", run, why)
		return err
	})
}

// reserveDevice returns the id of an image's device. The first call decides it.
func reserveDevice(ctx context.Context, s store, image string) (id string, err error) {
	const most = 1000 // the chance that so many are taken is none
	err = s.InTx(ctx, func(tx *sql.Tx) error {
		for n := range most {
			err := tx.QueryRowContext(ctx, "SELECT device_id FROM image_devices WHERE image_id = ?", image).Scan(&id)
			if !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if _, err := tx.ExecContext(ctx, "INSERT INTO image_devices VALUES (?, ?) ON CONFLICT (device_id) DO NOTHING", image, deviceID(image, n)); err != nil {
				return err
			}
		}
		return fmt.Errorf("no device id is free for image %s", image)
	})
	return id, err
}

// Numbers gives thin devices their numbers; adapters/devicemapper asks for it.
// A number is given before the device is made, and taken back after it is gone.
type Numbers struct{ store store }

// Number returns the number of a device, and gives it one first if it has none:
// the one that its name prefers, or the next that is free and not taken.
func (n Numbers) Number(ctx context.Context, name string, taken []uint32) (number uint32, err error) {
	const limit = 1 << 24
	err = n.store.InTx(ctx, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, "SELECT number FROM volume_numbers WHERE name = ?", name).Scan(&number)
		if !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		first := preferredNumber(name)
		for i := range uint32(limit) {
			if number = (first + i) % limit; slices.Contains(taken, number) {
				continue
			}
			result, err := tx.ExecContext(ctx, "INSERT INTO volume_numbers VALUES (?, ?) ON CONFLICT (number) DO NOTHING", name, number)
			if err != nil {
				return err
			}
			if changed, err := result.RowsAffected(); err != nil || changed == 1 {
				return err
			}
		}
		return errors.New("all 16,777,216 device numbers are taken")
	})
	if err != nil {
		return 0, fmt.Errorf("number of volume %s: %w", name, err)
	}
	return number, nil
}

// Release takes a number back.
func (n Numbers) Release(ctx context.Context, name string) error {
	return n.store.InTx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "DELETE FROM volume_numbers WHERE name = ?", name)
		return err
	})
}

// Names lists the numbers that are given.
func (n Numbers) Names(ctx context.Context) (map[string]uint32, error) {
	out := map[string]uint32{}
	err := rows(ctx, n.store, func(r *sql.Rows) error {
		var name string
		var number uint32
		err := r.Scan(&name, &number)
		out[name] = number
		return err
	}, "SELECT name, number FROM volume_numbers")
	return out, err
}
