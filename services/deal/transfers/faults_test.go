package transfers_test

import (
	"database/sql"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// paid compares what the faucet was paid since a balance, of which its own fees are less than 1%.
func (w *world[T]) paid(before, want uint64) {
	w.Helper()
	if got := w.chain.Balance(w.chain.Faucet()) - before; got < want*99/100 || got > want {
		w.Errorf("the recipient got %d, want %d", got, want)
	}
}

// TestASendThatIsCut: whatever happens to the connection during a send, the transfer is paid once. A
// liteserver refuses what was executed, and that is no reason to send it a hundred times.
func TestASendThatIsCut(t *testing.T) { onBoth(t, cut[*sql.Tx], cut[pgx.Tx]) }

func cut[T any](w *world[T]) {
	w.rounds = 20
	w.first = w.process(w.database.Store, sharing[T](w.highload(w.open(time.Second), 9)))
	for name, fault := range map[string]tontest.SendFault{
		"before": tontest.CutBefore, "during": tontest.CutDuring, "after": tontest.CutAfter, "forgotten": tontest.Forget,
	} {
		before := w.chain.Balance(w.chain.Faucet())
		w.server.Break(tontest.Faults{Send: fault})
		id := w.plan(transfer.KindPayout, w.owner(), price)
		for range 4 {
			w.drain(w.first)
			w.chain.Settle()
			w.clock.Advance(repeats)
		}
		w.server.Repair()
		w.until(transfer.Confirmed, id)
		if r := w.record(id); r.Signed != 1 {
			w.Errorf("%s: signed %d times", name, r.Signed)
		}
		w.paid(before, price)
		w.check()
	}
}

// TestLapsed: what no block has in its time is signed again, at most sign_limit times, and paid by a
// retry; what a block has in its time is paid, however late that is seen.
func TestLapsed(t *testing.T) { onBoth(t, lapsed[*sql.Tx], lapsed[pgx.Tx]) }

func lapsed[T any](w *world[T]) {
	before := w.chain.Balance(w.chain.Faucet())
	next := w.pass
	w.pass = func() {
		w.chain.Sleep(2 * validFor)
		w.chain.Advance(1)
	}
	w.server.Break(tontest.Faults{Send: tontest.Forget})
	id := w.plan(transfer.KindPayout, w.owner(), price)
	w.until(transfer.Expired, id)
	r := w.record(id)
	if limit := transfer.DefaultParams().SignLimit; r.Signed != limit || len(w.signatures(id)) != int(limit) || r.FeeNano.IsSet {
		w.Errorf("signed %d times: %v", r.Signed, w.signatures(id))
	}
	want := map[string]int{"report EXPIRED of payout": 1, "alert EXPIRED: " + r.Problem.V: 1}
	if got := w.hears.of(id); !maps.Equal(got, want) {
		w.Errorf("heard %v, want %v", got, want)
	}
	w.paid(before, 0)
	w.check()
	w.server.Repair()
	w.pass = next
	_, err := w.first.transfers.Retry(w.Context(), id, admin)
	w.must(err)
	w.until(transfer.Confirmed, id)
	w.paid(before, price)

	late := w.plan(transfer.KindPayout, w.owner(), price)
	w.drain(w.first) // signed, sent, and not in a block
	w.wants(late, transfer.Sent)
	w.chain.Settle()
	w.chain.Sleep(10 * validFor)
	w.chain.Advance(1)
	w.clock.Advance(repeats)
	w.drain(w.first)
	if r := w.wants(late, transfer.Confirmed); r.Signed != 1 {
		w.Errorf("signed %d times", r.Signed)
	}
	w.paid(before, 2*price)
	w.check()
}

// signatures returns the hashes of all that was signed for a transfer.
func (w *world[T]) signatures(id fsm.UUID) map[string]bool {
	w.Helper()
	list, err := w.first.transfers.History(w.Context(), id, 0, 1000)
	w.must(err)
	found := map[string]bool{}
	for _, step := range list {
		if e, ok := step.Event.(transfer.SignedAs); ok {
			found[e.BodyHash] = true
		}
	}
	return found
}

// TestStuck: a transfer that the chain says nothing of, because the liteserver lies, waits for an
// operator, is not signed again meanwhile, and is found after all.
func TestStuck(t *testing.T) { onBoth(t, stuck[*sql.Tx], stuck[pgx.Tx]) }

func stuck[T any](w *world[T]) {
	before := w.chain.Balance(w.chain.Faucet())
	id := w.plan(transfer.KindPayout, w.owner(), price)
	w.drain(w.first)
	w.wants(id, transfer.Sent)
	w.server.Break(tontest.Faults{ForgedAccount: true})
	w.until(transfer.Stuck, id)
	if r := w.record(id); r.Signed != 1 || !strings.Contains(r.Problem.V, "is not proved") || !strings.Contains(r.Problem.V, "take the liteserver out") {
		w.Errorf("signed %d times: %s", r.Signed, r.Problem.V)
	}
	w.server.Repair()
	_, err := w.first.transfers.Retry(w.Context(), id, admin)
	w.must(err)
	w.until(transfer.Confirmed, id)
	if r := w.record(id); r.Signed != 1 || r.Problem.IsSet {
		w.Errorf("signed %d times, the problem is %q", r.Signed, r.Problem.V)
	}
	w.paid(before, price)
	w.check()
}

// TestAnotherWallet: a transfer that is under way is followed in the wallet that has signed it, also by
// a process that has another one. It would be paid twice otherwise.
func TestAnotherWallet(t *testing.T) { onBoth(t, anotherWallet[*sql.Tx], anotherWallet[pgx.Tx]) }

func anotherWallet[T any](w *world[T]) {
	before := w.chain.Balance(w.chain.Faucet())
	id := w.plan(transfer.KindPayout, w.owner(), price)
	w.drain(w.first)
	w.wants(id, transfer.Sent)
	w.chain.Settle()
	w.chain.Sleep(2 * validFor)
	w.chain.Advance(1)
	w.clock.Advance(repeats)
	w.first = w.process(w.database.Store, sharing[T](w.highload(w.client, 10)))
	w.drain(w.first)
	if r := w.wants(id, transfer.Confirmed); r.Signed != 1 {
		w.Errorf("signed %d times", r.Signed)
	}
	w.paid(before, price)
	w.check()
}

// TestTwoDaemons: processes that share a wallet use each query id once, and none that the contract does
// not execute; all is paid once.
func TestTwoDaemons(t *testing.T) { onBoth(t, twoDaemons[*sql.Tx], twoDaemons[pgx.Tx]) }

func twoDaemons[T any](w *world[T]) {
	before := w.chain.Balance(w.chain.Faucet())
	const many, last = 10, 1017 // the ids around 1023 are next
	w.must(w.database.InTx(w.Context(), func(tx T) error {
		return w.database.Statements(tx).Exec(w.Context(), "INSERT INTO deal_wallets (wallet, last_number) VALUES ($1, $2)", w.escrow.Address().String(), last)
	}))
	second := w.process(w.database.Again(w.T), w.shared)
	var ids []fsm.UUID
	for range many {
		ids = append(ids, w.plan(transfer.KindPayout, w.owner(), coin))
	}
	w.pass = func() {
		done := make(chan error, 1)
		go func() {
			_, err := second.Step(w.Context())
			done <- err
		}()
		_, err := w.first.Step(w.Context())
		w.must(err)
		w.must(<-done)
		w.chain.Advance(1)
	}
	first := w.first
	for range 60 {
		w.pass()
		w.clock.Advance(repeats)
		if w.all(transfer.Confirmed, ids) {
			break
		}
	}
	w.first = first
	seen := map[int64]bool{}
	for _, id := range ids {
		r := w.wants(id, transfer.Confirmed)
		if q := r.QueryID.V; seen[q] || q&1023 == 1023 || q <= last {
			w.Errorf("the query id %d comes again, or can't be executed", q)
		}
		seen[r.QueryID.V] = true
	}
	if !seen[1022] || !seen[1024] {
		w.Errorf("the ids are not those around 1023: %v", seen)
	}
	w.paid(before, many*coin)
	w.check()
}
