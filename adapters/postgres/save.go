package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/runtime/store"
)

// Save implements store.Store. It sends one pipeline of statements, which the server stops at the
// first failure, and blocks for one round trip. A statement that finds no row to change fails too
// (see migration 0002), so no later statement runs. The last Save in a transaction of InTx
// (store.Commit.Last) also commits. If the transaction has only read before, the pipeline is the
// whole transaction.
//
// A step is one statement: the UPDATE of the changed columns of the record, with the INSERT of its
// history row. Several records of one table are written together: one statement for the first step
// of each, one for the second of each, and so on. If an event is one step, its messages are
// inserted by the same statement, so most events are a single statement. Other rows take one
// statement for each kind. If the database refuses a statement for several records, the error may
// not name the record.
//
// BenchmarkWrite compares ways to write an event. In CPU time of client and server together, an
// event with two messages took 5% more in two statements than in one, and 3% more when the one was
// sent as a pipeline. A statement with the constants of a transition (event, states, effects), as
// one writes it by hand, gained nothing, and needs a plan for each transition.
func (s *Store) Save(ctx context.Context, tx pgx.Tx, commits []store.Commit) error {
	err := s.save(ctx, tx, commits)
	if !lacksColumn(err) {
		return err
	}
	for _, c := range commits {
		if len(c.Steps) == 0 {
			continue
		}
		if misfit := s.misfit(ctx, tx, c.Machine, c.Tables); misfit != nil {
			return misfit
		}
	}
	return err
}

func (s *Store) save(ctx context.Context, tx pgx.Tx, commits []store.Commit) error {
	if err := checkWrites(commits); err != nil {
		return err
	}
	if err := s.learn(ctx, tx, commits); err != nil {
		return err
	}
	p := &pipeline{texts: &s.texts}
	if slices.ContainsFunc(commits, func(c store.Commit) bool { return c.ShortLockWait }) {
		p.add(subject{commit: &commits[0]}, shortLocks, shortLockWait)
	}
	p.waves(commits)
	if len(p.subjects) == 0 {
		return nil
	}
	p.work = p.work && slices.ContainsFunc(commits, func(c store.Commit) bool { return !c.NoWakeup })
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

// shortLockWait is how long a Save with store.Commit.ShortLockWait waits for a locked row. It
// is longer than a transaction that only writes takes.
const shortLockWait = "200ms"

// shortLocks makes the rest of a transaction wait for locks for so long.
const shortLocks = "SELECT set_config('lock_timeout', $1, true)"

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

// waves queues what commits write, in the order of the contract.
func (p *pipeline) waves(commits []store.Commit) {
	for _, wave := range waves(commits) {
		p.steps(wave)
		p.forced(wave)
		p.writes(wave)
		p.tasks(wave)
		p.cancel(wave)
		p.outbox(wave)
		p.deadlines(wave)
		p.keys(wave)
	}
}

// commit runs the pipeline as the end of t.
func (p *pipeline) commit(ctx context.Context, t *transaction) error {
	if err := usable(ctx, t.conn); err != nil {
		return wrap("commit", err)
	}
	err := p.sendLast(ctx, t)
	if err != nil && t.conn.IsClosed() {
		return ended(t.conn, err)
	}
	if err == nil {
		t.work, t.done = t.work || p.work, true
	}
	return err
}

// sendLast runs the pipeline and commits. Where nothing has begun a transaction
// it is one by itself, and a single statement needs no pipeline.
func (p *pipeline) sendLast(ctx context.Context, t *transaction) error {
	switch {
	case t.done:
		return wrap("save", pgx.ErrTxClosed)
	case t.tx != nil:
		p.batch.Queue("COMMIT")
		return p.send(t.tx.SendBatch(ctx, &p.batch))
	case len(p.subjects) > 1:
		return p.send(t.conn.SendBatch(ctx, &p.batch))
	}
	q := p.batch.QueuedQueries[0]
	if _, err := t.conn.Exec(ctx, q.SQL, q.Arguments...); err != nil {
		return explain(p.subjects[0], err)
	}
	return nil
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

// collect returns the rows of all commits of a wave.
func collect[R any](wave []*store.Commit, of func(*store.Commit) []R) []*R {
	n := 0
	for _, c := range wave {
		n += len(of(c))
	}
	all := make([]*R, 0, n)
	for _, c := range wave {
		rows := of(c)
		for i := range rows {
			all = append(all, &rows[i])
		}
	}
	return all
}
