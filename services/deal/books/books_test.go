package books_test

import (
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/books"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

func id(n int) fsm.UUID { return fsm.UUID{0: byte(n), 15: 1} }

// open returns the books of a database with deals.
func open[T any](t *testing.T, db dbtest.Database[T], b *books.Books[T]) *deal.Client[T] {
	t.Helper()
	e, err := engine.New(db.Store, engine.Config{}, deal.Define[T](nil, deal.DefaultParams()), transfer.Define[T](nil, transfer.DefaultParams()))
	if err == nil {
		err = e.Migrate(t.Context())
	}
	for range 2 { // again changes nothing
		if err == nil {
			err = b.Migrate(t.Context())
		}
	}
	if err == nil {
		err = e.Migrate(t.Context()) // the indices are no difference to the schema
	}
	if err != nil {
		t.Fatal(err)
	}
	return deal.In(e)
}

// TestDealsOf: a user has the deals that the user bought and sold, page by page.
func TestDealsOf(t *testing.T) {
	t.Parallel()
	dbtest.OnBoth(t, func(t *testing.T, db dbtest.Database[*sql.Tx]) { dealsOf(t, db, books.SQLite(db)) },
		func(t *testing.T, db dbtest.Database[pgx.Tx]) { dealsOf(t, db, books.Postgres(db)) })
}

func dealsOf[T any](t *testing.T, db dbtest.Database[T], b *books.Books[T]) {
	deals := open(t, db, b)
	for n, parties := range [][2]int64{{7, 8}, {8, 7}, {9, 8}, {7, 9}} {
		_, err := deals.Create(t.Context(), id(n), deal.Create{OwnerID: parties[1], PriceNano: 5}, deal.ByAdvertiser(parties[0]))
		if err != nil {
			t.Fatal(err)
		}
	}
	if _, err := deals.SubmitOffer(t.Context(), id(3), deal.ByAdvertiser(7)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		party int64
		state deal.State
		after fsm.UUID
		limit int
		want  []int
	}{
		{limit: 10, want: []int{0, 1, 2, 3}},
		{party: 7, limit: 10, want: []int{0, 1, 3}},
		{party: 7, limit: 2, want: []int{0, 1}},
		{party: 7, limit: 2, after: id(1), want: []int{3}},
		{party: 7, limit: 10, state: deal.OfferPending, want: []int{3}},
		{limit: 10, state: deal.Draft, after: id(0), want: []int{1, 2}},
		{party: 99, limit: 10},
	} {
		got, err := b.DealsOf(t.Context(), c.party, c.state, c.after, c.limit)
		var want []fsm.UUID
		for _, n := range c.want {
			want = append(want, id(n))
		}
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%+v: got %v, %v", c, got, err)
		}
	}
}

// TestBalances: those of one deal.
func TestBalances(t *testing.T) {
	t.Parallel()
	dbtest.OnBoth(t, func(t *testing.T, db dbtest.Database[*sql.Tx]) { balances(t, db, books.SQLite(db), ledger.SQLite()) },
		func(t *testing.T, db dbtest.Database[pgx.Tx]) { balances(t, db, books.Postgres(db), ledger.Postgres()) })
}

func balances[T any](t *testing.T, db dbtest.Database[T], b *books.Books[T], l *ledger.Ledger[T]) {
	open(t, db, b)
	for n := range 2 {
		err := db.InTx(t.Context(), func(tx T) error {
			return l.Post(t.Context(), tx, ledger.Funded(id(n), fmt.Sprint("tx", n), 5, 7+int64(n)), time.Unix(0, 0))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	got, err := b.Balances(t.Context(), id(0))
	want := map[ledger.Account]int64{ledger.ExternalTON: -7, ledger.Escrow(id(0)): 5, ledger.Suspense: 2}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

// TestListsReadIndices: the list of a user does not read the deals of others.
func TestListsReadIndices(t *testing.T) {
	t.Parallel()
	db := dbtest.SQLite(t)
	open(t, db, books.SQLite(db))
	err := db.InTx(t.Context(), func(tx *sql.Tx) error {
		rows, err := tx.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+books.OfParty, id(0).String(), "", 10, 7)
		if err != nil {
			return err
		}
		defer rows.Close()
		var plan []string
		for rows.Next() {
			var parent, child, unused int
			var detail string
			if err := rows.Scan(&child, &parent, &unused, &detail); err != nil {
				return err
			}
			plan = append(plan, detail)
		}
		text := strings.Join(plan, "\n")
		for _, want := range []string{"deals_of_advertiser (advertiser_id=? AND deal_id>?)", "deals_of_owner (owner_id=? AND deal_id>?)"} {
			if !strings.Contains(text, want) {
				t.Errorf("the plan does not use %s:\n%s", want, text)
			}
		}
		return rows.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
}
