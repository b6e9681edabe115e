package ledger_test

import (
	"database/sql"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

var (
	deal  = fsm.UUID{6: 0x70, 8: 0x80, 15: 1}
	other = fsm.UUID{6: 0x70, 8: 0x80, 15: 2}
	moved = fsm.UUID{6: 0x70, 8: 0x80, 15: 3}
	when  = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
)

// books is a ledger in a database, with transactions of its own.
type books[T any] struct {
	*testing.T
	*ledger.Ledger[T]
	database dbtest.Database[T]
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, lite func(books[*sql.Tx]), server func(books[pgx.Tx])) {
	dbtest.OnBoth(t, func(t *testing.T, db dbtest.Database[*sql.Tx]) {
		lite(books[*sql.Tx]{t, ledger.SQLite(), db}.migrated())
	}, func(t *testing.T, db dbtest.Database[pgx.Tx]) {
		server(books[pgx.Tx]{t, ledger.Postgres(), db}.migrated())
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// migrated makes the table twice: the second time it is there.
func (b books[T]) migrated() books[T] {
	b.Helper()
	for range 2 {
		must(b.T, b.in(func(tx T) error { return b.Migrate(b.Context(), tx) }))
	}
	return b
}

// in runs f in a transaction, which it commits unless f fails.
func (b books[T]) in(f func(T) error) error { return b.database.InTx(b.Context(), f) }

func (b books[T]) post(e ledger.Entry) error {
	return b.in(func(tx T) error { return b.Post(b.Context(), tx, e, when) })
}

func (b books[T]) posted(e ledger.Entry) {
	b.Helper()
	must(b.T, b.post(e))
}

func (b books[T]) says(statement string) error {
	return b.in(func(tx T) error { return b.database.Statements(tx).Exec(b.Context(), statement) })
}

// holds compares the balances of a deal, and checks that all deals are in balance.
func (b books[T]) holds(deal fsm.UUID, want map[ledger.Account]int64) {
	b.Helper()
	err := b.in(func(tx T) error {
		got, err := b.Balances(b.Context(), tx, deal)
		if err != nil {
			return err
		}
		if !maps.Equal(got, want) {
			b.Errorf("deal %s has %v, want %v", deal, got, want)
		}
		all, err := b.Totals(b.Context(), tx)
		sum := int64(0)
		for _, nano := range all {
			sum += nano
		}
		if sum != 0 {
			b.Errorf("all accounts together have %d: %v", sum, all)
		}
		return err
	})
	must(b.T, err)
}

// TestADealThatIsPaid: from a deposit that is too high to the payout, and the surplus back.
func TestADealThatIsPaid(t *testing.T) {
	t.Parallel()
	onBoth(t, paid[*sql.Tx], paid[pgx.Tx])
}

func paid[T any](b books[T]) {
	const price, surplus, owner, fee = 1_000_000_007, 5, 8, 3
	shares, err := ledger.Terms{Commission: 250, Fees: 100}.Split(price)
	must(b.T, err)
	b.posted(ledger.Funded(deal, "t1", price, price+surplus))
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -price - surplus, ledger.Escrow(deal): price, ledger.Suspense: surplus})
	b.posted(ledger.Released(deal, owner, shares))
	b.posted(ledger.Sent(deal, moved, ledger.Owner(owner), shares.Payout, fee))
	b.posted(ledger.Failed(deal, "t2", 2*fee))
	b.holds(deal, map[ledger.Account]int64{
		ledger.ExternalTON: -price - surplus + shares.Payout + 3*fee, ledger.Escrow(deal): 0, ledger.Suspense: surplus,
		ledger.Owner(owner): 0, ledger.Commission: shares.Commission, ledger.NetworkFees: 100 - 3*fee,
	})
	b.holds(other, map[ledger.Account]int64{})
}

// TestADealThatIsReturned: what goes back waits in SUSPENSE until it was sent.
func TestADealThatIsReturned(t *testing.T) {
	t.Parallel()
	onBoth(t, returned[*sql.Tx], returned[pgx.Tx])
}

func returned[T any](b books[T]) {
	b.posted(ledger.Funded(deal, "t1", 100, 100))
	b.posted(ledger.Stray(deal, "t2", 7))
	b.posted(ledger.Stray(other, "t2", 9)) // one transaction of the chain pays two deals
	b.posted(ledger.Returned(deal, 100))
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -107, ledger.Escrow(deal): 0, ledger.Suspense: 107})
	b.posted(ledger.Sent(deal, moved, ledger.Suspense, 100, 0))
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -7, ledger.Escrow(deal): 0, ledger.Suspense: 7})
	b.holds(other, map[ledger.Account]int64{ledger.ExternalTON: -9, ledger.Suspense: 9})
}

// TestACauseBooksOnce: the same entry again changes nothing, another one is refused.
func TestACauseBooksOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, booksOnce[*sql.Tx], booksOnce[pgx.Tx])
}

func booksOnce[T any](b books[T]) {
	b.posted(ledger.Funded(deal, "t1", 100, 100))
	b.posted(ledger.Funded(deal, "t1", 100, 100))
	for _, another := range []ledger.Entry{ledger.Funded(deal, "t1", 100, 101), ledger.Stray(deal, "t1", 100), ledger.Funded(deal, "t1", 99, 99)} {
		if err := b.post(another); !errors.Is(err, ledger.ErrConflict) || !strings.Contains(err.Error(), "deposit:t1 of deal "+deal.String()) {
			b.Errorf("%+v: %v", another, err)
		}
	}
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -100, ledger.Escrow(deal): 100})
}

// TestNothingIsOverdrawn: an escrow pays once, and no more than it holds.
func TestNothingIsOverdrawn(t *testing.T) {
	t.Parallel()
	onBoth(t, overdrawn[*sql.Tx], overdrawn[pgx.Tx])
}

func overdrawn[T any](b books[T]) {
	b.posted(ledger.Funded(deal, "t1", 100, 100))
	b.posted(ledger.Funded(other, "t1", 100, 100))
	b.posted(ledger.Returned(deal, 100))
	foreign := ledger.Returned(deal, 100)
	foreign.Cause, foreign.Lines[0].Debit = "theft", ledger.Escrow(other)
	for _, e := range []ledger.Entry{
		ledger.Released(deal, 8, ledger.Shares{Payout: 90, Commission: 10}),
		ledger.Returned(other, 101),
		ledger.Sent(deal, moved, ledger.Suspense, 101, 0),
		ledger.Sent(deal, moved, ledger.Owner(8), 1, 0),
		foreign,
	} {
		if err := b.post(e); !errors.Is(err, ledger.ErrRefused) || !strings.Contains(err.Error(), "post "+e.Cause) {
			b.Errorf("%+v: %v", e, err)
		}
	}
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -100, ledger.Escrow(deal): 0, ledger.Suspense: 100})
}

// TestReleaseAndReturnAtOnce: of two transactions that empty an escrow at the same time, the
// second waits for the first, and is refused.
func TestReleaseAndReturnAtOnce(t *testing.T) {
	t.Parallel()
	onBoth(t, func(b books[*sql.Tx]) {
		atOnce(b, func(*sql.Tx) bool { return true }) // the second waits for the lock of the database
	}, func(b books[pgx.Tx]) {
		atOnce(b, func(tx pgx.Tx) (waits bool) {
			const question = `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid)))`
			must(t, tx.QueryRow(b.Context(), question).Scan(&waits))
			return waits
		})
	})
}

// atOnce commits the first transaction when the second waits or has posted.
func atOnce[T any](b books[T], waits func(T) bool) {
	b.posted(ledger.Funded(deal, "t1", 100, 100))
	second := make(chan error, 1)
	err := b.in(func(tx T) error {
		if err := b.Post(b.Context(), tx, ledger.Released(deal, 8, ledger.Shares{Payout: 100}), when); err != nil {
			return err
		}
		go func() { second <- b.post(ledger.Returned(deal, 100)) }()
		progress.Until(b.T, "the second transaction", func() (any, bool) { return nil, waits(tx) || len(second) > 0 })
		return nil
	})
	must(b.T, err)
	if err := <-second; !errors.Is(err, ledger.ErrRefused) {
		b.Errorf("the return after the release: %v", err)
	}
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -100, ledger.Escrow(deal): 0, ledger.Owner(8): 100})
}

// TestTheBooksAreAppendOnly also for an owner of the database.
func TestTheBooksAreAppendOnly(t *testing.T) {
	t.Parallel()
	onBoth(t, appendOnly[*sql.Tx], func(b books[pgx.Tx]) {
		appendOnly(b)
		if err := b.says("TRUNCATE deal_ledger"); err == nil {
			b.Error("the table can be emptied")
		}
	})
}

func appendOnly[T any](b books[T]) {
	b.posted(ledger.Funded(deal, "t1", 100, 100))
	insert := "INSERT INTO deal_ledger (deal_id, cause, line, debit, credit, nano, booked_at) VALUES ('" + deal.String() + "', "
	for _, statement := range []string{
		"UPDATE deal_ledger SET nano = 99",
		"UPDATE deal_ledger SET booked_at = booked_at",
		"DELETE FROM deal_ledger",
		"INSERT OR REPLACE INTO deal_ledger SELECT deal_id, cause, line, debit, credit, 99, booked_at FROM deal_ledger",
		insert + "'x', 1, 'EXTERNAL_TON', 'SUSPENSE', 0, '2026-01-01T00:00:00Z')",
		insert + "'x', 1, 'EXTERNAL_TON', 'SUSPENSE', -5, '2026-01-01T00:00:00Z')",
		insert + "'x', 1, 'SUSPENSE', 'SUSPENSE', 5, '2026-01-01T00:00:00Z')",
		insert + "'x', 1, 'EXTERNAL_TON', 'SUSPENCE', 5, '2026-01-01T00:00:00Z')",
		insert + "'x', 1, 'EXTERNAL_TON', 'OWNER:8x', 5, '2026-01-01T00:00:00Z')",
		insert + "'x', 1, 'EXTERNAL_TON', 'ESCROW:" + other.String() + "', 5, '2026-01-01T00:00:00Z')",
		insert + "'', 1, 'EXTERNAL_TON', 'SUSPENSE', 5, '2026-01-01T00:00:00Z')",
	} {
		if err := b.says(statement); err == nil {
			b.Errorf("the database takes %s", statement)
		}
	}
	must(b.T, b.says(insert+"'x', 1, 'EXTERNAL_TON', 'OWNER:8', 5, '2026-01-01T00:00:00Z')"))
	b.holds(deal, map[ledger.Account]int64{ledger.ExternalTON: -105, ledger.Escrow(deal): 100, ledger.Owner(8): 5})
}

// TestInvalidEntries are refused before the database sees them.
func TestInvalidEntries(t *testing.T) {
	t.Parallel()
	onBoth(t, invalid[*sql.Tx], invalid[pgx.Tx])
}

func invalid[T any](b books[T]) {
	for _, e := range []ledger.Entry{
		{Deal: deal, Cause: "x"},
		{Deal: deal, Lines: []ledger.Line{{Debit: ledger.ExternalTON, Credit: ledger.Suspense, Nano: 1}}},
		{Deal: deal, Cause: "x", Lines: []ledger.Line{{Debit: ledger.ExternalTON, Credit: ledger.ExternalTON, Nano: 1}}},
		{Deal: deal, Cause: "x", Lines: []ledger.Line{{Debit: ledger.ExternalTON, Nano: 1}}},
		ledger.Funded(deal, "t1", 100, 99),
		ledger.Stray(deal, "t1", 0),
	} {
		if err := b.post(e); !errors.Is(err, ledger.ErrInvalid) {
			b.Errorf("%+v: %v", e, err)
		}
	}
	b.holds(deal, map[ledger.Account]int64{})
}
