package images

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Status is what is known of one image.
type Status struct {
	ImageID    string `json:"image_id"`
	Key        string `json:"s3_key"`
	Download   string `json:"download_status"`
	Unpacked   bool   `json:"layout_verified"`
	Activation string `json:"activation_status"`
	Device     string `json:"device_name,omitempty"`
	Snapshot   string `json:"snapshot_id,omitempty"`
	Size       int64  `json:"size_bytes"`
	// Run is the run that is under way, or the last one.
	Machine string `json:"machine"`
	RunID   string `json:"run_id"`
	State   string `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Cause   string `json:"cause,omitempty"`
	Stuck   string `json:"stuck,omitempty"` // the effect that failed for good
}

// Status lists every image that was asked for, by id.
func (s *Service) Status(ctx context.Context) ([]Status, error) {
	const query = `
		WITH runs AS (
			SELECT 'download' AS machine, 1 AS place, run_id, image_id, s3_key, state, reason, cause, created_at FROM download_records
			UNION ALL SELECT 'unpack', 2, run_id, image_id, NULL, state, reason, cause, created_at FROM unpack_records
			UNION ALL SELECT 'activate', 3, run_id, image_id, NULL, state, reason, cause, created_at FROM activate_records
		), last AS (
			SELECT *, row_number() OVER (PARTITION BY image_id ORDER BY created_at DESC, place DESC) AS n FROM runs
		)
		SELECT l.image_id, (SELECT d.s3_key FROM download_records AS d WHERE d.image_id = l.image_id LIMIT 1),
			coalesce(i.download_status, 'pending'), coalesce(u.layout_verified, 0), coalesce(i.activation_status, 'inactive'),
			coalesce(u.device_name, ''), coalesce(s.snapshot_id, ''), coalesce(i.size_bytes, 0),
			l.machine, l.run_id, l.state, coalesce(l.reason, ''), coalesce(l.cause, (SELECT why FROM verdicts AS v WHERE v.run_id = l.run_id), ''),
			coalesce((SELECT o.effect FROM fsm_outbox AS o WHERE o.machine = l.machine AND o.record_id = l.run_id
				AND o.state = 'dead_letter' AND NOT o.cancelled AND o.discarded_at IS NULL LIMIT 1), '')
		FROM last AS l
		LEFT JOIN images AS i USING (image_id)
		LEFT JOIN unpacked_images AS u USING (image_id)
		LEFT JOIN snapshots AS s ON s.image_id = l.image_id AND s.active
		WHERE l.n = 1 ORDER BY l.image_id`
	var out []Status
	err := rows(ctx, s.store, func(r *sql.Rows) error {
		var x Status
		err := r.Scan(&x.ImageID, &x.Key, &x.Download, &x.Unpacked, &x.Activation, &x.Device, &x.Snapshot, &x.Size,
			&x.Machine, &x.RunID, &x.State, &x.Reason, &x.Cause, &x.Stuck)
		out = append(out, x)
		return err
	}, query)
	if err != nil {
		return nil, fmt.Errorf("status: %w", err)
	}
	return out, nil
}

// Retry sets a run that is stuck going again: what failed for good is tried
// anew. who and why are kept with it.
func (s *Service) Retry(ctx context.Context, run, who, why string) (engine.Resumed, error) {
	for _, link := range chain {
		found, err := row(ctx, s.store, "SELECT 1 FROM "+link.table+" WHERE run_id = ?", []any{run}, new(int))
		if err != nil {
			return engine.Resumed{}, err
		}
		if found {
			return s.engine.Resume(ctx, link.machine, run, who, why)
		}
	}
	return engine.Resumed{}, fmt.Errorf("run %s: %w", run, engine.ErrNotFound)
}
