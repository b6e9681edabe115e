package engine

import (
	"errors"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// demand is the version that a caller requires.
type demand struct {
	at      place
	version int64 // 0: any
}

type demands []demand

// demand returns the version that the caller requires.
func (r request[T]) demand() demand {
	return demand{place{r.machine.Name(), r.id}, r.ifVersion}
}

// checkVersion returns a *VersionError if the record is not at the version that the caller
// requires.
func (r request[T]) checkVersion(row store.Row) error {
	if r.ifVersion == 0 || row.Record == nil || row.Version == r.ifVersion {
		return nil
	}
	return &VersionError{
		Machine: r.machine.Name(), ID: r.id, IfVersion: r.ifVersion, Version: row.Version, State: row.Record.StateName(),
	}
}

// explain turns a conflict into a *VersionError if a caller required the version that was lost.
func (all demands) explain(err error) error {
	var c *ConflictError
	if !errors.As(err, &c) {
		return err
	}
	for _, d := range all {
		if d.version == c.Expected && d.at == (place{c.Machine, c.ID}) {
			return &VersionError{Machine: c.Machine, ID: c.ID, IfVersion: d.version, Version: c.Version, State: c.State}
		}
	}
	return err
}
