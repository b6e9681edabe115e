package transfers_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal/transfers"
)

// crash ends a process at one of its boundaries: before or after a transaction, or a call of the wallet.
type crash struct {
	mu     sync.Mutex
	left   int // boundaries until it ends
	passed []string
	ended  bool
}

var errEnded = errors.New("the process has ended")

// passes reports that the process is at a boundary. Its error is errEnded if it does not go on.
func (c *crash) passes(boundary string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left == 0 {
		c.ended = true
	}
	if c.ended {
		return errEnded
	}
	c.left--
	c.passed = append(c.passed, boundary)
	return nil
}

// around calls f between two boundaries.
func (c *crash) around(what string, f func() error) error {
	if err := c.passes("before " + what); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, c.passes("after "+what))
}

// crashingStore is the store of a process that ends.
type crashingStore[T any] struct {
	store.Store[T]
	of *crash
}

func (s crashingStore[T]) InTx(ctx context.Context, f func(T) error) error {
	return s.of.around("a transaction", func() error { return s.Store.InTx(ctx, f) })
}

func (s crashingStore[T]) Claim(ctx context.Context, c store.Claim) (tasks []store.Task, err error) {
	err = s.of.around("a claim", func() error {
		tasks, err = s.Store.Claim(ctx, c)
		return err
	})
	return tasks, err
}

// crashingWallet is the wallet of a process that ends. It keeps what was sent.
type crashingWallet struct {
	transfers.Wallet
	of   *crash
	sent map[string]int
}

func (w crashingWallet) Sign(ctx context.Context, t ton.Transfer) (s ton.Signed, err error) {
	err = w.of.around("Sign", func() error {
		s, err = w.Wallet.Sign(ctx, t)
		return err
	})
	return s, err
}

func (w crashingWallet) Send(ctx context.Context, s ton.Signed) error {
	return w.of.around("Send", func() error {
		w.sent[string(s.BOC)]++
		return w.Wallet.Send(ctx, s)
	})
}

func (w crashingWallet) Outcome(ctx context.Context, s ton.Signed) (o ton.Outcome, err error) {
	err = w.of.around("Outcome", func() error {
		o, err = w.Wallet.Outcome(ctx, s)
		return err
	})
	return o, err
}

// TestKilled: a process that ends at any boundary leaves a transfer that another process pays once, by
// the bytes that were sent first.
func TestKilled(t *testing.T) { onBoth(t, killed[*sql.Tx], killed[pgx.Tx]) }

func killed[T any](w *world[T]) {
	survivor := w.first
	boundaries := map[string]int{}
	n := 0
	for done := false; !done; n++ {
		before := w.chain.Balance(w.chain.Faucet())
		c, sent := &crash{left: n}, map[string]int{}
		again := func(d *transfers.Database[T]) transfers.Wallet {
			return crashingWallet{w.shared(d), &crash{left: -1}, sent}
		}
		w.first = w.process(crashingStore[T]{w.database.Store, c}, func(d *transfers.Database[T]) transfers.Wallet {
			return crashingWallet{w.shared(d), c, sent}
		})
		crashing := w.first
		w.first = survivor
		id := w.plan(transfer.KindPayout, w.owner(), coin)
		done = w.runs(crashing, c, id.String())
		w.first = w.process(w.database.Store, again)
		w.until(transfer.Confirmed, id)
		if len(sent) != 1 {
			w.Errorf("killed after %d boundaries (%v): %d messages were sent", n, c.passed, len(sent))
		}
		w.paid(before, coin)
		if len(c.passed) > 0 {
			boundaries[c.passed[len(c.passed)-1]]++
		}
	}
	w.check()
	for _, b := range []string{"before Sign", "after Sign", "before Send", "after Send", "before Outcome", "after Outcome"} {
		if boundaries[b] == 0 {
			w.Errorf("no process was killed %s: %v", b, slices.Sorted(maps.Keys(boundaries)))
		}
	}
	fmt.Fprintf(w.Output(), "killed at %d of %d boundaries\n", n-1, n-1)
}

// runs lets a process go on until its end or that of its work, and reports whether its work has ended.
func (w *world[T]) runs(p *process[T], c *crash, id string) bool {
	w.Helper()
	for range 100 {
		for {
			n, err := p.Step(w.Context())
			if c.ended {
				return false
			}
			w.must(err)
			if n == 0 {
				break
			}
		}
		var left int
		w.must(w.database.InTx(w.Context(), func(tx T) error {
			return w.database.Statements(tx).Each(w.Context(), "SELECT count(*) FROM fsm_outbox WHERE record_id = $1 AND state IN ('pending', 'retry_wait', 'delivering')", []any{id},
				func(scan func(...any) error) error { return scan(&left) })
		}))
		if left == 0 {
			return true
		}
		w.chain.Advance(1)
		w.clock.Advance(repeats)
	}
	w.Fatal("the process neither ends nor ends its work")
	return false
}
