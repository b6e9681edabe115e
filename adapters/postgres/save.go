package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Save writes accepted events in one round trip: a pipeline of statements that
// the server stops at the first failure. A statement that finds no row to
// change fails too (see migration 0002), so nothing behind it is done; in the
// last write of a transaction of InTx (engine.Commit.Last) the COMMIT is part of
// the same pipeline.
//
// A step is one statement: the UPDATE of the record, from which the INSERT of
// its history row follows. What else the commits lead to is one statement a
// kind, whatever the number of rows. TestPipeline measures the ways to write an
// event; on a server of the same machine, with fsync off, in events a second
// (medians of 5 rounds):
//
//	                                             1 client   16 clients
//	UPDATE, history, outbox, COMMIT: 4 trips     TRIPS4
//	the same as a pipeline, COMMIT apart         PIPE2
//	the same as a pipeline with COMMIT           PIPE1
//	step as one statement, pipeline with COMMIT  THIS
//	all of it as one statement, with COMMIT      ONE
//
// One statement for everything would gain no more, and there would be a text,
// with a plan, for each combination of what an event can lead to.
func (s *Store) Save(ctx context.Context, tx pgx.Tx, commits []engine.Commit) error {
	if len(commits) == 0 {
		return nil
	}
	p := &pipeline{}
	for _, wave := range waves(commits) {
		p.steps(wave)
		p.writes(wave)
		p.tasks(wave)
		p.cancel(wave)
		p.outbox(wave)
		p.deadlines(wave)
		p.keys(wave)
	}
	own, _ := tx.(*transaction)
	last := own != nil && commits[len(commits)-1].Last
	if !last && own == nil && p.work {
		// The caller commits, so only the transaction itself can tell.
		p.add(subject{commit: &commits[0]}, "SELECT pg_notify($1, '')", s.notifier.channel)
	}
	if last {
		if err := usable(ctx, own.conn); err != nil {
			return wrap("commit", err)
		}
		p.batch.Queue("COMMIT")
	}
	if err := p.send(ctx, tx, last); err != nil {
		return err
	}
	if own != nil {
		own.work = own.work || p.work
		own.done = own.done || last
	}
	return nil
}

// waves splits commits so that no record occurs twice in a wave: within a wave
// the statements are sorted by kind.
func waves(commits []engine.Commit) [][]*engine.Commit {
	type record struct{ machine, id string }
	var out [][]*engine.Commit
	seen := map[record]bool{}
	for i := range commits {
		c := &commits[i]
		r := record{c.Machine, c.ID}
		if len(out) == 0 || seen[r] {
			out = append(out, nil)
			clear(seen)
		}
		seen[r] = true
		out[len(out)-1] = append(out[len(out)-1], c)
	}
	return out
}

// pipeline is a batch that knows what each of its statements is about.
type pipeline struct {
	batch    pgx.Batch
	subjects []subject
	work     bool // it leaves something that a worker can do at once
}

func (p *pipeline) add(about subject, sql string, args ...any) {
	p.batch.Queue(sql, args...)
	p.subjects = append(p.subjects, about)
}

// send runs the pipeline. last says that it ends with COMMIT.
func (p *pipeline) send(ctx context.Context, tx pgx.Tx, last bool) error {
	results := tx.SendBatch(ctx, &p.batch)
	for _, about := range p.subjects {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // says the same
			if last && tx.Conn().IsClosed() {
				return ended(tx.Conn(), err)
			}
			return explain(about, err)
		}
	}
	if err := results.Close(); err != nil {
		if last {
			return ended(tx.Conn(), err)
		}
		return wrap("save", err)
	}
	return nil
}

// rows of all commits of a wave.
func collect[R any](wave []*engine.Commit, of func(*engine.Commit) []R) []R {
	var out []R
	for _, c := range wave {
		out = append(out, of(c)...)
	}
	return out
}
