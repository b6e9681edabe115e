package service

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/publish"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

type publishMove = move[publish.Payload]

func publishScenario() scenario[publish.Payload, *publish.Record] {
	open := func(int, time.Time) (opening[publish.Payload], error) {
		return opening[publish.Payload]{event: publish.Create{}}, nil
	}
	return scenario[publish.Payload, *publish.Record]{open, nextOfVersion}
}

// nextOfVersion publishes; every fifth version is quarantined first, every
// second one tombstoned, and half of those restored.
func nextOfVersion(r *publish.Record, at point) publishMove {
	request := publish.PublishVersion{Policy: publish.PolicyAllow, Digest: digest(fmt.Append(nil, "manifest ", at.n))}
	switch {
	case r.State == publish.Draft && at.n%5 == 4 && at.version == 1:
		request.Policy = publish.PolicyQuarantine
		return publishMove{event: request}
	case r.State == publish.Draft:
		m := publishMove{event: request}
		request.Policy = publish.PolicyDeny
		m.wrong = request
		return m
	case r.State == publish.Published && at.n%2 == 0 && at.version < 4:
		return publishMove{event: publish.TombstoneVersion{Authorized: true, RetentionUntil: fsm.Some(at.now.Add(48 * time.Hour))}}
	case r.State == publish.Tombstoned && at.n%4 == 0:
		return publishMove{event: publish.RestoreVersion{Policy: publish.PolicyAllow}}
	}
	return publishMove{rest: true}
}

// publishHandlers keeps manifests, tombstones and the audit in the transaction
// of the step and announces what happened.
type publishHandlers struct{ out Outside }

var _ publish.Handlers[tx] = publishHandlers{}

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
