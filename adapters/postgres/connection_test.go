package postgres

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/runtime/store"
)

// TestLostCommitIsAnsweredByTheKey breaks the connection while a commit is
// under way, before the server hears of it and after it has committed. The
// caller can't tell the two apart; the key can.
func TestLostCommitIsAnsweredByTheKey(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	p := pgtest.Proxy(t, d.dsn)
	s := d.storeThrough(t, p)
	ctx := context.Background()
	keyed := func(n int) store.Commit {
		c := creation(t, n)
		c.IdempotencyKeys = []store.IdempotencyKey{{Machine: "deal", Key: "call:" + id(n), RecordID: id(n), Event: "CREATE", Version: 1, CreatedAt: epoch}}
		return c
	}
	for i, tt := range []struct {
		name     string
		cut      proxytest.Direction
		last     bool // the commit is in the pipeline of Save
		happened bool
	}{
		{"request of a pipelined commit", proxytest.Request, true, false},
		{"answer of a pipelined commit", proxytest.Answer, true, true},
		{"request of a commit", proxytest.Request, false, false},
		{"answer of a commit", proxytest.Answer, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := keyed(i)
			c.Last = tt.last
			for n, last := range []bool{true, false} { // prepares the statements
				warm := keyed(100 + 10*i + n)
				warm.Last = last
				must(t, save(s, warm))
			}
			err := s.InTx(ctx, func(tx pgx.Tx) error {
				if _, err := s.Load(ctx, tx, []store.Query{query(i)}); err != nil {
					return err
				}
				if !tt.last {
					err := s.Save(ctx, tx, []store.Commit{c})
					p.CutNext(tt.cut)
					return err
				}
				p.CutNext(tt.cut)
				return s.Save(ctx, tx, []store.Commit{c})
			})
			var unknown *UnknownOutcomeError
			if !errors.As(err, &unknown) || !errors.Is(err, store.ErrStore) {
				t.Fatalf("the error is %v, want an unknown outcome", err)
			}
			q := query(i)
			q.IdempotencyKeys = []string{"call:" + id(i)}
			must(t, s.InTx(ctx, func(tx pgx.Tx) error {
				rows, err := s.Load(ctx, tx, []store.Query{q})
				if err == nil && (len(rows[0].IdempotencyKeys) == 1) != tt.happened {
					t.Errorf("the key says that it happened: %v", !tt.happened)
				}
				if err == nil && (rows[0].Record != nil) != tt.happened {
					t.Errorf("the record says that it happened: %v", !tt.happened)
				}
				return err
			}))
		})
	}
}

// TestLossBeforeTheCommitIsKnown loses the connection while nothing could have
// been committed: that is no unknown outcome.
func TestLossBeforeTheCommitIsKnown(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	p := pgtest.Proxy(t, d.dsn)
	s := d.storeThrough(t, p)
	ctx := context.Background()
	must(t, save(s, creation(t, 100)))
	err := s.InTx(ctx, func(tx pgx.Tx) error {
		if _, err := s.Load(ctx, tx, []store.Query{query(1)}); err != nil {
			return err
		}
		p.CutNext(proxytest.Answer)
		return s.Save(ctx, tx, []store.Commit{creation(t, 1)})
	})
	var unknown *UnknownOutcomeError
	if errors.As(err, &unknown) || !errors.Is(err, store.ErrStore) {
		t.Fatalf("the error is %v, want a failure of the store", err)
	}
	must(t, save(s, creation(t, 1)))
}

// TestListeningHeedsBeforeConnect has the pool learn only when it connects where the
// server is.
func TestListeningHeedsBeforeConnect(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	pool := d.newPool(t, func(c *pgxpool.Config) {
		password := c.ConnConfig.Password
		user := c.ConnConfig.User
		c.ConnConfig.User, c.ConnConfig.Password = "nobody_of_that_name", "wrong"
		c.BeforeConnect = func(_ context.Context, c *pgx.ConnConfig) error {
			c.User, c.Password = user, password
			return nil
		}
	})
	s, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close(context.Background())) })
	listen(t, s)
	if s.listener.conn == nil {
		t.Fatal("it does not listen")
	}
}

// TestNotificationWakesAnotherProcess measures how long a waiting worker of
// another process takes to hear of a commit. It does not poll: that takes an hour.
func TestNotificationWakesAnotherProcess(t *testing.T) {
	d := openDatabase(t)
	writer := d.migrated(t)
	worker := d.store(t)
	listen(t, worker)
	var longest time.Duration
	for i := range 20 {
		drain(t, worker)
		woken := waiting(t, worker)
		begun := time.Now()
		must(t, save(writer, creation(t, i)))
		must(t, progress.Receive(t, "the wake-up", woken))
		longest = max(longest, time.Since(begun))
	}
	t.Logf("from the begin of a transaction to the wake-up of another store: at most %v of 20", longest)
}

// TestCallersTransactionNotifies: the store does not see it commit, so the
// transaction carries the notification itself.
func TestCallersTransactionNotifies(t *testing.T) {
	d := openDatabase(t)
	s := d.migrated(t)
	worker := d.store(t)
	listen(t, worker)
	drain(t, worker)
	ctx := context.Background()
	must(t, pgx.BeginFunc(ctx, d.pool, func(tx pgx.Tx) error {
		return s.Save(ctx, tx, []store.Commit{creation(t, 1)})
	}))
	must(t, progress.Receive(t, "the notification", waiting(t, worker)))
}

// TestListenerReconnects breaks the connection that listens. The worker is
// woken, since it may have missed something, and hears the next commit.
func TestListenerReconnects(t *testing.T) {
	d := openDatabase(t)
	writer := d.migrated(t)
	p := pgtest.Proxy(t, d.dsn)
	worker := d.storeThrough(t, p)
	listen(t, worker)
	drain(t, worker)

	woken := waiting(t, worker)
	p.BreakAll()
	must(t, progress.Receive(t, "the end of the connection", woken))

	listen(t, worker)
	drain(t, worker)
	woken = waiting(t, worker)
	must(t, save(writer, creation(t, 1)))
	must(t, progress.Receive(t, "the wake-up", woken))
}

// TestWaitWithoutServer lets the time pass: polling goes on, and does not spin.
func TestWaitWithoutServer(t *testing.T) {
	d := openDatabase(t)
	p := pgtest.Proxy(t, d.dsn)
	worker := d.storeThrough(t, p)
	p.Refuse()
	begun := time.Now()
	must(t, worker.Wait(context.Background(), 50*time.Millisecond))
	if waited := time.Since(begun); waited < 50*time.Millisecond {
		t.Errorf("it returned after %v", waited)
	}
}

// TestConnectingOutlastsAWait: a busy server takes longer to accept a connection than
// a worker waits. Each Wait returns in time, and one connection is made for all.
func TestConnectingOutlastsAWait(t *testing.T) {
	d := openDatabase(t)
	writer := d.migrated(t)
	p := pgtest.Proxy(t, d.dsn)
	var dialled atomic.Int64
	pool := d.newPool(t, func(c *pgxpool.Config) {
		c.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			dialled.Add(1)
			return p.Dial(ctx, network, address)
		}
	})
	worker, err := New(pool, Options{Schema: d.schema})
	must(t, err)
	ctx := context.Background()
	arrived, release := p.HoldNext(proxytest.Answer)
	for range 20 {
		must(t, worker.Wait(ctx, time.Millisecond))
	}
	<-arrived
	release()
	must(t, progress.Receive(t, "a connection that listens", waiting(t, worker)))
	if n := dialled.Load(); n != 1 {
		t.Errorf("%d connections were begun, want 1", n)
	}
	drain(t, worker)
	woken := waiting(t, worker)
	must(t, save(writer, creation(t, 1)))
	must(t, progress.Receive(t, "the wake-up", woken))
	must(t, worker.Close(ctx))
}

// TestCloseWhileConnecting ends a connection that is being made.
func TestCloseWhileConnecting(t *testing.T) {
	d := openDatabase(t)
	p := pgtest.Proxy(t, d.dsn)
	worker := d.storeThrough(t, p)
	arrived, release := p.HoldNext(proxytest.Answer)
	defer release()
	must(t, worker.Wait(context.Background(), time.Millisecond))
	<-arrived
	must(t, worker.Close(context.Background()))
	if worker.listener.conn != nil || worker.listener.coming != nil {
		t.Error("a connection is left")
	}
}

// listen makes s listen: the first Wait only connects.
func listen(t *testing.T, s *Store) {
	t.Helper()
	must(t, progress.Receive(t, "a connection that listens", waiting(t, s)))
}

// waiting has a worker wait for a notification, for an hour without one.
func waiting(t *testing.T, s *Store) <-chan error {
	t.Helper()
	woken := make(chan error, 1)
	go func() { woken <- s.Wait(t.Context(), time.Hour) }()
	return woken
}

// drain takes notifications that are on their way.
func drain(t *testing.T, s *Store) {
	t.Helper()
	for begun := time.Now(); ; begun = time.Now() {
		must(t, s.Wait(context.Background(), 20*time.Millisecond))
		if time.Since(begun) >= 20*time.Millisecond {
			return
		}
	}
}

// TestKeysAreNotTruncated: TRUNCATE fires no trigger of a row.
func TestKeysAreNotTruncated(t *testing.T) {
	d := openDatabase(t)
	d.migrated(t)
	_, err := d.pool.Exec(context.Background(), "TRUNCATE fsm_keys")
	var refused *pgconn.PgError
	if !errors.As(err, &refused) || refused.Code != "FS104" {
		t.Errorf("the error is %v, want FS104", err)
	}
}
