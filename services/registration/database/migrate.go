package database

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations
var migrations embed.FS

// migrate brings the tables of the service, which stand beside those of the
// machine, to the newest version: a file a version, in the order of the names.
func migrate(ctx context.Context, q querier, d dialect) error {
	if lock := d.lockMigration(); lock != "" { // of several daemons that start at once, one does it
		if _, err := q.exec(ctx, lock); err != nil {
			return err
		}
	}
	if _, err := q.exec(ctx, "CREATE TABLE IF NOT EXISTS registration_schema (version integer NOT NULL PRIMARY KEY)"); err != nil {
		return err
	}
	var done int
	if _, err := one(ctx, q, "SELECT coalesce(max(version), 0) FROM registration_schema", nil, &done); err != nil {
		return err
	}
	files, err := fs.Glob(migrations, "migrations/"+d.name()+"/*.sql")
	if err != nil {
		return err
	}
	if done > len(files) {
		return fmt.Errorf("the tables are of version %d, and this program knows %d: use a newer one", done, len(files))
	}
	for i, file := range files[done:] {
		text, err := migrations.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := q.exec(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		if _, err := q.exec(ctx, "INSERT INTO registration_schema (version) VALUES ($1)", done+i+1); err != nil {
			return err
		}
	}
	return nil
}
