package service

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func publishRole(o Outside) Role {
	return Role{
		Machine: publish.Define[*sql.Tx](publishHandlers{o}),
		Open:    func(int, time.Time) (Opening, error) { return Opening{publish.Create{}, fsm.System()}, nil },
		Next:    simple(nextOfVersion),
	}
}

// nextOfVersion publishes; every fifth version is quarantined first, every
// second one tombstoned, and half of those restored.
func nextOfVersion(r *publish.Record, at Point) Move {
	request := publish.PublishVersion{Policy: publish.PolicyAllow, Digest: digest(fmt.Append(nil, "manifest ", at.N))}
	switch {
	case r.State == publish.Draft && at.N%5 == 4 && at.Version == 1:
		request.Policy = publish.PolicyQuarantine
		return system(request)
	case r.State == publish.Draft:
		m := system(request)
		request.Policy = publish.PolicyDeny
		m.Wrong = request
		return m
	case r.State == publish.Published && at.N%2 == 0 && at.Version < 4:
		return system(publish.TombstoneVersion{Authorized: true, RetentionUntil: fsm.Some(at.Now.Add(48 * time.Hour))})
	case r.State == publish.Tombstoned && at.N%4 == 0:
		return system(publish.RestoreVersion{Policy: publish.PolicyAllow})
	}
	return rest()
}

// publishHandlers keeps manifests, tombstones and the audit in the transaction
// of the step and announces what happened.
type publishHandlers struct{ out Outside }

var _ publish.Handlers[*sql.Tx] = publishHandlers{}

func (h publishHandlers) PersistArtifactEntries(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ publish.PersistArtifactEntriesEffect) error {
	return note(ctx, tx, d)
}

func (h publishHandlers) TombstoneRow(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ publish.TombstoneRowEffect) error {
	return note(ctx, tx, d)
}

func (h publishHandlers) LiftTombstone(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ publish.LiftTombstoneEffect) error {
	return note(ctx, tx, d)
}

func (h publishHandlers) Audit(ctx context.Context, tx *sql.Tx, d fsm.Dispatch, _ publish.AuditEffect) error {
	return note(ctx, tx, d)
}

func (h publishHandlers) ArtifactPublished(ctx context.Context, d fsm.Dispatch, _ publish.ArtifactPublishedEffect) error {
	return h.out.send(ctx, "outbox", d)
}

func (h publishHandlers) ArtifactQuarantined(ctx context.Context, d fsm.Dispatch, _ publish.ArtifactQuarantinedEffect) error {
	return h.out.send(ctx, "outbox", d)
}

func (h publishHandlers) ArtifactTombstoned(ctx context.Context, d fsm.Dispatch, _ publish.ArtifactTombstonedEffect) error {
	return h.out.send(ctx, "outbox", d)
}

func (h publishHandlers) ArtifactRestored(ctx context.Context, d fsm.Dispatch, _ publish.ArtifactRestoredEffect) error {
	return h.out.send(ctx, "outbox", d)
}
