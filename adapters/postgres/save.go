package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Save writes accepted events in one round trip: a pipeline of statements that
// the server stops at the first failure. A statement that finds no row to
// change fails too (see migration 0002), so nothing behind it is done. The last
// write of a transaction of InTx (engine.Commit.Last) commits with the pipeline,
// and where nothing but reads came before, the pipeline is the transaction.
//
// A step is one statement: the UPDATE of the record, from which the INSERT of
// its history row follows; so are the steps of several records of one table.
// What else the commits lead to is one statement a kind, whatever the number of
// rows. What a statement for several refuses names no record: alone each would.
//
// BenchmarkWrite compares the ways to write an event with one message. In CPU time for an event, one client, over TCP on
// one machine, PostgreSQL 15, fsync off:
//
//	                                                      trips  client   server
//	this                                                    2    207 us   416 us
//	this, COMMIT apart (no engine.Commit.Last)              3    238 us   475 us
//	by hand: all in one statement, its own transaction      2    118 us   398 us
//	by hand: a pipeline of UPDATE, two INSERTs, COMMIT      2    119 us   360 us
//	by hand: BEGIN, SELECT, all in one statement, COMMIT    4    172 us   423 us
//
// The client's part holds the machine's decision, which the ways by hand leave
// out. One statement for everything gains nothing over a pipeline, and there
// would be a text, with a plan, for each combination of what an event can lead
// to.
func (s *Store) Save(ctx context.Context, tx pgx.Tx, commits []engine.Commit) error {
	if err := s.learn(ctx, tx, commits); err != nil {
		return err
	}
	p := &pipeline{texts: &s.texts}
	for _, wave := range waves(commits) {
		p.steps(wave)
		p.writes(wave)
		p.tasks(wave)
		p.cancel(wave)
		p.outbox(wave)
		p.deadlines(wave)
		p.keys(wave)
	}
	if len(p.subjects) == 0 {
		return nil
	}
	own, ours := tx.(*transaction)
	switch {
	case ours && commits[len(commits)-1].Last:
		return p.commit(ctx, own)
	case ours:
		own.work = own.work || p.work
	case p.work:
		// The caller commits, so only the transaction itself can tell.
		p.add(subject{commit: &commits[0]}, "SELECT pg_notify($1, '')", s.notifier.channel)
	}
	return p.send(tx.SendBatch(ctx, &p.batch))
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
	texts    *texts
	batch    pgx.Batch
	subjects []subject
	work     bool // it leaves something that a worker can do at once
}

func (p *pipeline) add(about subject, sql string, args ...any) {
	p.batch.Queue(sql, args...)
	p.subjects = append(p.subjects, about)
}

// commit runs the pipeline as the end of t.
func (p *pipeline) commit(ctx context.Context, t *transaction) error {
	if err := usable(ctx, t.conn); err != nil {
		return wrap("commit", err)
	}
	err := p.send(t.sendLast(ctx, &p.batch))
	if err != nil && t.conn.IsClosed() {
		return ended(t.conn, err)
	}
	if err == nil {
		t.work, t.done = t.work || p.work, true
	}
	return err
}

// send reads the results of the pipeline.
func (p *pipeline) send(results pgx.BatchResults) error {
	for _, about := range p.subjects {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // says the same
			return explain(about, err)
		}
	}
	if err := results.Close(); err != nil {
		return explain(p.subjects[0], err)
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
