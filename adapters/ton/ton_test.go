package ton_test

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
)

var key = ed25519.NewKeyFromSeed([]byte("0123456789abcdef0123456789abcdef"))

const coin = 1_000_000_000

// network is a chain with liteservers and a client of all of them.
type network struct {
	*tontest.Chain
	servers []*tontest.Server
	client  *ton.Client
}

func newNetwork(t testing.TB, servers int) *network {
	t.Helper()
	n := &network{Chain: tontest.New(t)}
	for range servers {
		n.servers = append(n.servers, n.Serve())
	}
	n.client = n.open(t)
	return n
}

// open returns another client, as another process has it.
func (n *network) open(t testing.TB) *ton.Client {
	t.Helper()
	client, err := ton.Open(t.Context(), n.config(n.ConfigFile(n.servers...)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	return client
}

func (n *network) config(file string) ton.Config {
	return ton.Config{File: file, Timeout: 10 * time.Second, Reconnect: time.Millisecond, Now: n.Now}
}

// hasty returns a client for calls that get no answer: the test waits for its timeout. On a slow
// machine it may give up what another would have got, so a call that must succeed is repeated.
func (n *network) hasty(t testing.TB) *ton.Client {
	t.Helper()
	config := n.config(n.ConfigFile(n.servers...))
	config.Timeout = time.Second
	var client *ton.Client
	atLast(t, func() (err error) {
		client, err = ton.Open(t.Context(), config)
		return err
	})
	t.Cleanup(client.Close)
	return client
}

// atLast repeats a call as long as no liteserver answers.
func atLast(t testing.TB, call func() error) {
	t.Helper()
	for {
		err := call()
		switch {
		case err == nil:
			return
		case !errors.Is(err, ton.ErrUnreachable):
			t.Fatal(err)
		}
	}
}

// library returns an address as the chain takes it.
func library(a ton.Address) *address.Address { return address.NewAddress(0, 0, a.Hash[:]) }

func (n *network) give(to ton.Address, nano uint64) { n.Give(library(to), nano) }

func (n *network) balance(of ton.Address) uint64 { return n.Balance(library(of)) }

// deposit returns the address of a deal.
func deposit(t testing.TB, subwallet uint32) ton.Address {
	t.Helper()
	a, err := ton.WalletAddress(key.Public().(ed25519.PublicKey), subwallet)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// holder is an account that has no code.
func holder(name string) ton.Address {
	var a ton.Address
	copy(a.Hash[:], name)
	return a
}

// books are the application's store: what it must do and no more.
type books struct {
	mu      sync.Mutex
	cursors map[ton.Address]ton.Cursor
	credits map[string]ton.Deposit
	costs   map[string]uint64
	order   map[ton.Address][]uint64
	calls   int
	fail    error
}

func newBooks(watched ...ton.Address) *books {
	b := &books{cursors: map[ton.Address]ton.Cursor{}, credits: map[string]ton.Deposit{}, costs: map[string]uint64{}, order: map[ton.Address][]uint64{}}
	b.watch(watched...)
	return b
}

func (b *books) watch(addresses ...ton.Address) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, a := range addresses {
		b.cursors[a] = ton.Cursor{}
	}
}

func (b *books) Open(context.Context) ([]ton.Account, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]ton.Account, 0, len(b.cursors))
	for a, cursor := range b.cursors {
		list = append(list, ton.Account{Address: a, Cursor: cursor})
	}
	return list, nil
}

func (b *books) Credit(_ context.Context, of ton.Address, deposits []ton.Deposit, costs []ton.Cost, next ton.Cursor) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.fail != nil {
		return b.fail
	}
	for _, d := range deposits {
		if _, there := b.credits[d.Key()]; !there {
			b.credits[d.Key()] = d
			b.order[of] = append(b.order[of], d.LT)
		}
	}
	for _, c := range costs {
		b.costs[c.Key()] = c.Nano
	}
	if next.LT > b.cursors[of].LT {
		b.cursors[of] = next
	}
	return nil
}

// sum returns what an address was credited with.
func (b *books) sum(of ton.Address) (nano uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.credits {
		if d.Address == of {
			nano += d.Nano
		}
	}
	return nano
}

func (b *books) deposits(of ton.Address) (list []ton.Deposit) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, d := range b.credits {
		if d.Address == of {
			list = append(list, d)
		}
	}
	slices.SortFunc(list, func(x, y ton.Deposit) int { return int(x.LT) - int(y.LT) })
	return list
}

func watcher(t testing.TB, client *ton.Client, b ton.Deposits, change func(*ton.WatcherConfig)) *ton.Watcher {
	t.Helper()
	config := ton.WatcherConfig{Client: client, Deposits: b}
	if change != nil {
		change(&config)
	}
	w, err := ton.NewWatcher(config)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func round(t testing.TB, w *ton.Watcher) {
	t.Helper()
	if _, err := w.Round(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func wants(t *testing.T, what string, err, want error) {
	t.Helper()
	kinds := []error{ton.ErrUnreachable, ton.ErrNotSynchronised, ton.ErrProof, ton.ErrRefused}
	for _, kind := range kinds {
		if got := errors.Is(err, kind); got != errors.Is(want, kind) {
			t.Errorf("%s: %v: is it %q? %v", what, err, kind, got)
		}
	}
	if err != nil && !strings.HasPrefix(err.Error(), "ton: ") {
		t.Errorf("%s: %v does not say whose error it is", what, fmt.Sprint(err))
	}
}
