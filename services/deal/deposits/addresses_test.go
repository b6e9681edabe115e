package deposits_test

import (
	"database/sql"
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/deposits"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
)

// register is the addresses of a database without a chain.
type register[T any] struct {
	*testing.T
	*deposits.Addresses[T]
	database dbtest.Database[T]
}

func registers(t *testing.T, lite func(register[*sql.Tx]), server func(register[pgx.Tx])) {
	t.Parallel()
	dbtest.OnBoth(t, func(t *testing.T, db dbtest.Database[*sql.Tx]) { lite(newRegister(t, db)) },
		func(t *testing.T, db dbtest.Database[pgx.Tx]) { server(newRegister(t, db)) })
}

func newRegister[T any](t *testing.T, db dbtest.Database[T]) register[T] {
	t.Helper()
	a, err := deposits.NewAddresses(db, db.Statements, public())
	r := register[T]{t, a, db}
	r.must(err)
	r.must(db.InTx(t.Context(), func(tx T) error { return a.Migrate(t.Context(), tx) }))
	return r
}

func (r register[T]) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

func (r register[T]) exec(statement string) {
	r.Helper()
	r.must(r.database.InTx(r.Context(), func(tx T) error { return r.database.Statements(tx).Exec(r.Context(), statement) }))
}

// numbered returns the number of a deal's address, and compares the address with that of the number.
func (r register[T]) numbered(n byte) uint32 {
	r.Helper()
	deal := fsm.UUID{6: 0x70, 8: 0x80, 15: n}
	at, err := r.Of(r.Context(), deal)
	r.must(err)
	number, err := r.Subwallet(r.Context(), deal)
	r.must(err)
	if want, err := ton.WalletAddress(public(), number); err != nil || at != want {
		r.Errorf("deal %d has %s, and the address of %d is %s, %v", n, at, number, want, err)
	}
	return number
}

// TestNumbers: a deal keeps its address, another deal has another, and no deal has the reserved number.
func TestNumbers(t *testing.T) { registers(t, numbers[*sql.Tx], numbers[pgx.Tx]) }

func numbers[T any](r register[T]) {
	for range 2 {
		for n := range byte(3) {
			if got := r.numbered(n); got != uint32(n)+1 {
				r.Errorf("deal %d has the number %d", n, got)
			}
		}
	}
	r.exec("UPDATE deal_subwallets SET last_number = 698983189")
	if one, two := r.numbered(10), r.numbered(11); one != ton.ReservedSubwallet-1 || two != ton.ReservedSubwallet+1 {
		r.Errorf("beside the reserved number %d are %d and %d", ton.ReservedSubwallet, one, two)
	}
	r.exec("UPDATE deal_subwallets SET last_number = 4294967294")
	if last := r.numbered(12); last != 1<<32-1 {
		r.Errorf("the last number is %d", last)
	}
	if _, err := r.Of(r.Context(), fsm.UUID{15: 13}); err == nil {
		r.Error("there are more numbers than 32 bits have")
	}
	if _, err := r.Subwallet(r.Context(), fsm.UUID{15: 14}); !errors.Is(err, deposits.ErrNoAddress) {
		r.Errorf("a deal without an address: %v", err)
	}
}

// TestAddressesAtOnce: processes that make addresses at the same time make one for each deal.
func TestAddressesAtOnce(t *testing.T) { registers(t, atOnce[*sql.Tx], atOnce[pgx.Tx]) }

func atOnce[T any](r register[T]) {
	second, err := deposits.NewAddresses(r.database.Again(r.T), r.database.Statements, public())
	r.must(err)
	var mu sync.Mutex
	var all sync.WaitGroup
	found := map[fsm.UUID]map[ton.Address]bool{}
	for i := range 40 {
		from := []*deposits.Addresses[T]{r.Addresses, second}[i%2]
		deal := fsm.UUID{15: byte(i / 4)}
		all.Go(func() {
			at, err := from.Of(r.Context(), deal)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Error(err)
			}
			if found[deal] == nil {
				found[deal] = map[ton.Address]bool{}
			}
			found[deal][at] = true
		})
	}
	all.Wait()
	seen := map[ton.Address]bool{}
	for deal, list := range found {
		for at := range list {
			if len(list) != 1 || seen[at] {
				r.Errorf("deal %s has %v, or shares it", deal, list)
			}
			seen[at] = true
		}
	}
}

func TestAShortKey(t *testing.T) {
	t.Parallel()
	if _, err := deposits.NewAddresses[*sql.Tx](nil, nil, public()[:31]); err == nil {
		t.Error("a key of 31 bytes is taken")
	}
}
