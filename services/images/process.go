package images

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/runtime/client"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Result is an image that is ready to run.
type Result struct {
	ImageID      string `json:"image_id"`
	SnapshotID   string `json:"snapshot_id"`
	SnapshotName string `json:"snapshot_name"`
	Path         string `json:"path"` // of the snapshot's volume
	Checksum     string `json:"checksum"`
	Size         int64  `json:"size"` // bytes of the tar
}

// AbortedError says which run of the chain gave up, and why.
type AbortedError struct {
	Machine, RunID string
	Reason, Cause  string
}

func (e *AbortedError) Error() string {
	text := fmt.Sprintf("%s %s was aborted: %s", e.Machine, e.RunID, e.Reason)
	if e.Cause != "" {
		text += ": " + e.Cause
	}
	return text
}

// StuckError says that the work waits for a person: an effect can't be carried
// out, and what is behind it must not be.
type StuckError struct{ Machine, RunID, Effect, Message, LastError string }

func (e *StuckError) Error() string {
	return fmt.Sprintf("%s %s is stuck: %s failed for good (%s); mend the cause, then run: images retry %s", e.Machine, e.RunID, e.Effect, e.LastError, e.RunID)
}

// ErrIDTaken is returned for an object whose image id belongs to another object.
var ErrIDTaken = errors.New("the image id belongs to another object")

func idTaken(image, bucket, key string) error {
	return fmt.Errorf("%w: %s is the image of %q in bucket %q; give one of the two objects another key", ErrIDTaken, image, key, bucket)
}

// Process asks for the image of an object and waits until it is ready. If
// the image is being worked on already, Process waits for that work, and for the
// cleaning up of a run that was aborted. A process has to Run.
//
// Errors: *AbortedError, *StuckError, ErrIDTaken, or that of ctx.
func (s *Service) Process(ctx context.Context, bucket, key string) (Result, error) {
	image := ImageID(bucket, key)
	var run string
	err := poll(ctx, func() (done bool, err error) {
		run, err = s.request(ctx, image, bucket, key)
		return run != "", err
	})
	if err == nil {
		err = poll(ctx, func() (bool, error) { return s.ended(ctx, image, run) })
	}
	if err != nil {
		return Result{}, fmt.Errorf("image %s: %w", image, err)
	}
	return s.result(ctx, image, run)
}

// poll asks again and again until it is told that it is done.
func poll(ctx context.Context, ask func() (done bool, err error)) error {
	const pause = 20 * time.Millisecond
	look := time.NewTicker(pause)
	defer look.Stop()
	for {
		done, err := ask()
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}

// chain lists the tables of the chain's machines in its order, with the column
// that names the run of download that the chain began with.
var chain = []struct{ machine, table, run string }{
	{"download", "download_records", "run_id"}, {"unpack", "unpack_records", "download_run"}, {"activate", "activate_records", "download_run"},
}

// request starts the chain for an image, or finds the one that is under way.
// Looking and starting are one transaction, so there is never more than one. It
// returns no run while an earlier one still cleans up, and ErrIDTaken where a run
// of another object has the id.
func (s *Service) request(ctx context.Context, image, bucket, key string) (run string, err error) {
	id := newRun()
	downloads := download.In(s.engine)
	var outcome client.Outcome[*download.Record]
	err = s.db.InTx(ctx, func(tx *sql.Tx) error {
		const active = `SELECT run_id FROM download_records WHERE image_id = ?1 AND state NOT IN ('COMPLETE', 'aborted')
			UNION ALL SELECT download_run FROM unpack_records WHERE image_id = ?1 AND state NOT IN ('COMPLETE', 'aborted')
			UNION ALL SELECT download_run FROM activate_records WHERE image_id = ?1 AND state NOT IN ('COMPLETE', 'aborted')`
		if err := isOwn(ctx, tx, image, bucket, key); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, active, image).Scan(&run); !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		if cleaning, err := isCleaning(ctx, tx, image); err != nil || cleaning {
			return err
		}
		run = id.String()
		outcome, err = downloads.Tx(tx).Start(ctx, id, download.Start{ImageID: image, S3Key: key, Bucket: bucket}, engine.By(fsm.System()))
		return err
	})
	if err != nil || run == "" {
		return "", err
	}
	downloads.Committed(ctx, outcome)
	return run, nil
}

// isOwn returns an ErrIDTaken if any run of an image was about another object.
func isOwn(ctx context.Context, tx *sql.Tx, image, bucket, key string) error {
	const query = "SELECT bucket, s3_key FROM download_records WHERE image_id = ? AND (bucket <> ? OR s3_key <> ?) LIMIT 1"
	var otherBucket, otherKey string
	err := tx.QueryRowContext(ctx, query, image, bucket, key).Scan(&otherBucket, &otherKey)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	return cmp.Or(err, idTaken(image, otherBucket, otherKey))
}

// isCleaning reports whether runs of an image that have ended still have work to
// do. What an aborted run deletes, a volume or a tar, has the name that a new run
// would give to its own: begun beside the other, it would lose it. The error is a
// *StuckError if that work waits for a person.
func isCleaning(ctx context.Context, tx *sql.Tx, image string) (bool, error) {
	e := &StuckError{}
	var dead bool
	for _, link := range chain {
		// The condition is that of the index fsm_outbox_ordering_key.
		query := `SELECT o.record_id, o.effect, o.message_id, coalesce(o.last_error, ''), o.state = 'dead_letter'
			FROM fsm_outbox AS o WHERE o.machine = ?1 AND o.record_id IN (SELECT run_id FROM ` + link.table + ` WHERE image_id = ?2)
				AND o.state <> 'delivered' AND (o.cancelled = 0 OR o.state = 'delivering') AND o.discarded_at IS NULL LIMIT 1`
		err := tx.QueryRowContext(ctx, query, link.machine, image).Scan(&e.RunID, &e.Effect, &e.Message, &e.LastError, &dead)
		switch {
		case errors.Is(err, sql.ErrNoRows):
			continue
		case err == nil && dead:
			e.Machine = link.machine
			err = e
		}
		return true, err
	}
	return false, nil
}

// newRun returns a random UUID.
func newRun() (u fsm.UUID) {
	_, _ = rand.Read(u[:]) // never fails: it ends the process instead
	u[6], u[8] = u[6]&0x0f|0x40, u[8]&0x3f|0x80
	return u
}

// ended follows the chain from the run that begins it.
func (s *Service) ended(ctx context.Context, image, run string) (bool, error) {
	for _, link := range chain {
		query := "SELECT run_id, state, coalesce(reason, ''), coalesce(cause, (SELECT why FROM verdicts AS v WHERE v.run_id = r.run_id), '') FROM " +
			link.table + " AS r WHERE image_id = ? AND " + link.run + " = ?"
		var id, state, reason, cause string
		found, err := row(ctx, s.store, query, []any{image, run}, &id, &state, &reason, &cause)
		switch {
		case err != nil:
			return false, err
		case !found:
			return false, fmt.Errorf("%s of image %s is not there", link.machine, image)
		case state == "aborted":
			return false, &AbortedError{link.machine, id, reason, cause}
		case state != "COMPLETE":
			return false, s.stuck(ctx, link.machine, id)
		}
	}
	return true, nil
}

// stuck looks for a dead letter of a run.
func (s *Service) stuck(ctx context.Context, machine, run string) error {
	e := &StuckError{Machine: machine, RunID: run}
	const query = `SELECT effect, message_id, coalesce(last_error, '') FROM fsm_outbox
		WHERE machine = ? AND record_id = ? AND state = 'dead_letter' AND discarded_at IS NULL
			AND state <> 'delivered' AND (cancelled = 0 OR state = 'delivering') LIMIT 1` // as the index fsm_outbox_ordering_key has it
	found, err := row(ctx, s.store, query, []any{machine, run}, &e.Effect, &e.Message, &e.LastError)
	if err != nil || !found {
		return err
	}
	return e
}

// result describes the snapshot that a run ended with. Checksum and size are those
// of the run that the snapshot was made for: a later one may have downloaded other
// content, of which there is no snapshot yet.
func (s *Service) result(ctx context.Context, image, run string) (r Result, err error) {
	r.ImageID = image
	const query = `SELECT s.snapshot_id, s.snapshot_name, coalesce(a.device_path, ''), s.checksum, coalesce(d.size_bytes, 0)
		FROM snapshots AS s JOIN download_records AS d ON d.run_id = s.download_run JOIN activate_records AS a ON a.image_id = s.image_id
		WHERE s.image_id = ? AND s.active AND a.state = 'COMPLETE' AND a.download_run = ?`
	found, err := row(ctx, s.store, query, []any{image, run}, &r.SnapshotID, &r.SnapshotName, &r.Path, &r.Checksum, &r.Size)
	if err == nil && !found {
		err = errors.New("it was ready and is no more")
	}
	if err != nil {
		return Result{}, fmt.Errorf("image %s: %w", image, err)
	}
	return r, nil
}
