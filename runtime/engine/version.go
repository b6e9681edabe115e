package engine

import (
	"errors"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// demand is a version that a caller demands of a record.
type demand struct {
	at      place
	version int64 // 0: any
}

type demands []demand

// demand returns what the caller of r demands.
func (r request[T]) demand() demand {
	return demand{place{r.machine.Name(), r.id}, r.ifVersion}
}

// checkVersion compares the record with the version that the caller demands.
func (r request[T]) checkVersion(row store.Row) error {
	if r.ifVersion == 0 || row.Record == nil || row.Version == r.ifVersion {
		return nil
	}
	return &VersionError{
		Machine: r.machine.Name(), ID: r.id, IfVersion: r.ifVersion, Version: row.Version, State: row.Record.StateName(),
	}
}

// explain turns a conflict over a record into a *VersionError where a caller
// demanded the version that was lost: the record had it when it was read.
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
