package deal

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/fsmgen/fsmgen/adapters/ton"
	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/books"
	"github.com/fsmgen/fsmgen/services/deal/deposits"
	"github.com/fsmgen/fsmgen/services/deal/posts"
	"github.com/fsmgen/fsmgen/services/deal/transfers"
)

// Service carries deals out. Any number of processes may run one on the same database with the same
// key.
type Service[T any] struct {
	Engine    *engine.Engine[T]
	Deals     *machine.Client[T]
	Transfers *transfer.Client[T]
	Books     *books.Books[T]

	config    Config[T]
	addresses *deposits.Addresses[T]
	movements *transfers.Database[T]
	scheduler *posts.Scheduler[T]
	verifier  *posts.Verifier[T]
	escrow    *ton.Highload
	watched   []ton.Deposits // the deals' addresses, and the escrow wallet
	watchers  []*ton.Watcher // of each
}

// New puts a service together. It asks neither the chain nor the database.
func New[T any](c Config[T]) (*Service[T], error) {
	public, err := c.public()
	if err != nil {
		return nil, err
	}
	c = c.withDefaults()
	db := c.Database
	s := &Service[T]{config: c, Books: db.books, movements: transfers.NewDatabase(db.store, db.in)}
	if s.addresses, err = deposits.NewAddresses(db.store, db.in, public); err != nil {
		return nil, err
	}
	if s.escrow, err = ton.NewHighload(ton.HighloadConfig{Client: c.Chain, Key: c.Key, Subwallet: c.Escrow}); err != nil {
		return nil, err
	}
	if s.scheduler, err = posts.NewScheduler(db.store, db.posts, c.Channel, c.Posts); err != nil {
		return nil, err
	}
	if s.verifier, err = posts.NewVerifier(db.store, db.posts, c.Channel, c.Posts); err != nil {
		return nil, err
	}
	if err := s.newEngine(); err != nil {
		return nil, err
	}
	return s, s.newWatchers()
}

func (s *Service[T]) newEngine() (err error) {
	moving, err := transfers.New(transfers.Config[T]{
		Escrow: transfers.Shared(s.escrow, s.movements), Deposits: s.depositWallet, Database: s.movements, Ledger: s.config.Database.ledger,
		Deals: s, Operators: s,
	})
	if err != nil {
		return err
	}
	s.Engine, err = engine.New(s.config.Database.store, s.config.Engine,
		machine.Define(&handlers[T]{s.scheduler, s.verifier, s}, s.config.Params.V), transfer.Define(moving, s.config.TransferParams.V))
	if err != nil {
		return err
	}
	s.Deals, s.Transfers = machine.In(s.Engine), transfer.In(s.Engine)
	return nil
}

func (s *Service[T]) newWatchers() error {
	credits, err := deposits.New(deposits.Config[T]{
		Addresses: s.addresses, Engine: s.Engine, Ledger: s.config.Database.ledger, Confirm: s.confirm, Escrow: s.escrow.Address(),
		Reserve: s.config.Reserve, Least: s.config.Reserve,
	})
	if err != nil {
		return err
	}
	funds, err := deposits.NewFunds(s.addresses, s.config.Database.ledger, s.escrow.Address())
	if err != nil {
		return err
	}
	s.watched = []ton.Deposits{credits, funds}
	for _, of := range s.watched {
		w, err := ton.NewWatcher(ton.WatcherConfig{Client: s.config.Chain, Deposits: of, Logger: s.config.Engine.Logger})
		if err != nil {
			return err
		}
		s.watchers = append(s.watchers, w)
	}
	return nil
}

// depositWallet returns the wallet that has the deposits of a deal.
func (s *Service[T]) depositWallet(ctx context.Context, deal fsm.UUID) (transfers.Wallet, error) {
	number, err := s.addresses.Subwallet(ctx, deal)
	if err != nil {
		return nil, err
	}
	return ton.NewWallet(ton.WalletConfig{Client: s.config.Chain, Key: s.config.Key, Subwallet: number})
}

// Escrow returns the address of the escrow wallet.
func (s *Service[T]) Escrow() ton.Address { return s.escrow.Address() }

// Migrate makes all tables where they are missing.
func (s *Service[T]) Migrate(ctx context.Context) error {
	if err := s.Engine.Migrate(ctx); err != nil {
		return err
	}
	if err := s.Books.Migrate(ctx); err != nil {
		return err
	}
	return s.config.Database.store.InTx(ctx, func(tx T) error {
		return errors.Join(s.addresses.Migrate(ctx, tx), s.movements.Migrate(ctx, tx), s.config.Database.posts.Migrate(ctx, tx))
	})
}

// Run carries deals out until ctx ends, or a part of the service fails for good.
func (s *Service[T]) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	parts := []func() error{
		func() error { return s.Engine.Run(ctx) },
		func() error { s.scheduler.Run(ctx, s.Deals); return nil },
		func() error { s.verifier.Run(ctx, s.Deals); return nil },
	}
	for _, w := range s.watchers {
		parts = append(parts, func() error { return w.Run(ctx) })
	}
	failed := make([]error, len(parts))
	var all sync.WaitGroup
	for i, run := range parts {
		all.Go(func() {
			defer stop()
			failed[i] = run()
		})
	}
	all.Wait()
	return errors.Join(failed...)
}

// Round does once what is due: it looks at the chain and at the posts, and carries effects out. It
// reports how many tasks there were. It is for tests, which set the clock.
func (s *Service[T]) Round(ctx context.Context) (done int, err error) {
	for _, w := range s.watchers {
		if _, err := w.Round(ctx); err != nil {
			return done, fmt.Errorf("watch the chain: %w", err)
		}
	}
	for _, part := range []func() (int, error){
		func() (int, error) { return s.scheduler.Round(ctx, s.Deals) },
		func() (int, error) { return s.verifier.Round(ctx, s.Deals) },
		func() (int, error) { return s.Engine.Step(ctx) },
	} {
		n, err := part()
		if done += n; err != nil {
			return done, err
		}
	}
	return done, nil
}
