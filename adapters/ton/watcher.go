package ton

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Account is an address that is watched, and what is known of it.
type Account struct {
	Address Address
	Cursor  Cursor // of the last Credit, zero before the first
}

// Deposits is the application's store of watched addresses.
type Deposits interface {
	// Open returns the addresses that are watched now.
	Open(ctx context.Context) ([]Account, error)
	// Credit stores deposits of an account and what other transactions cost it, oldest first, and
	// moves the account's cursor to next, in one transaction of the application. It is called without
	// either if the account has had neither since its cursor. It may get a deposit or a cost again: an
	// address, LT and Hash count once. A cursor that is already at next or behind it (LT) is left as
	// it is.
	Credit(ctx context.Context, of Address, deposits []Deposit, costs []Cost, next Cursor) error
}

// WatcherConfig configures a Watcher.
type WatcherConfig struct {
	// Client reads the chain. Required.
	Client *Client
	// Deposits is what is watched. Required.
	Deposits Deposits
	// Interval is the pause between two rounds. Default: 2 s.
	Interval time.Duration
	// MaxGap is how many blocks of shards a round reads at most to see which accounts had a
	// transaction. Behind more, it looks at every account. Default: 200.
	MaxGap int
	// Concurrency is how many accounts are looked at side by side. Default: 8.
	Concurrency int
	// Logger gets rounds that failed. Default: slog.Default.
	Logger *slog.Logger
}

const (
	defaultInterval    = 2 * time.Second
	defaultGap         = 200
	defaultConcurrency = 8
)

// Watcher finds deposits. One round at a time is made; several watchers of the same addresses do no
// harm, since Credit is unique.
type Watcher struct {
	config WatcherConfig
	seen   frontier         // up to where all is known; nil for nowhere
	known  map[Address]bool // the addresses of the last round
	owed   map[Address]bool // those that a round has failed to look at
}

// NewWatcher returns a watcher. Its first round looks at every address: what happened while no watcher
// ran is found by the cursors.
func NewWatcher(config WatcherConfig) (*Watcher, error) {
	switch {
	case config.Client == nil:
		return nil, errors.New("ton: WatcherConfig.Client is missing")
	case config.Deposits == nil:
		return nil, errors.New("ton: WatcherConfig.Deposits is missing")
	case config.MaxGap < 0 || config.Concurrency < 0 || config.Interval < 0:
		return nil, errors.New("ton: WatcherConfig has a negative limit")
	}
	config.Interval = cmp.Or(config.Interval, defaultInterval)
	config.MaxGap = cmp.Or(config.MaxGap, defaultGap)
	config.Concurrency = cmp.Or(config.Concurrency, defaultConcurrency)
	config.Logger = cmp.Or(config.Logger, slog.Default())
	return &Watcher{config: config, owed: map[Address]bool{}}, nil
}

// Run makes rounds until ctx ends, and returns its error. A round that fails is logged and made again.
func (w *Watcher) Run(ctx context.Context) error {
	for {
		if _, err := w.Round(ctx); err != nil && ctx.Err() == nil {
			w.config.Logger.WarnContext(ctx, "ton: deposits are looked for again", "error", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("ton: watch deposits: %w", ctx.Err())
		case <-time.After(w.config.Interval):
		}
	}
}

// Round credits what has come until now, and returns the view up to which all is credited. If it
// fails for some addresses, the others are credited, and the next round looks at those again. It must
// not be called concurrently.
func (w *Watcher) Round(ctx context.Context) (View, error) {
	view, err := w.config.Client.View(ctx)
	if err != nil {
		return View{}, err
	}
	// Read after the view: a deposit to an address that is opened later is in a later block.
	open, err := w.config.Deposits.Open(ctx)
	if err != nil {
		return View{}, fmt.Errorf("ton: addresses to watch: %w", err)
	}
	shards, err := w.config.Client.shards(ctx, view)
	if err != nil {
		return View{}, err
	}
	due, err := w.due(ctx, open, shards)
	if err != nil {
		return View{}, err
	}
	err = w.lookAt(ctx, view, due)
	w.seen = shards
	w.known = make(map[Address]bool, len(open))
	for _, a := range open {
		w.known[a.Address] = true
	}
	if err != nil {
		return View{}, err
	}
	return view, nil
}

// due returns the accounts that may have a transaction that is not known: those in the blocks since
// the last round, those that are new, and those that the last round failed to look at.
func (w *Watcher) due(ctx context.Context, open []Account, shards frontier) ([]Account, error) {
	if w.seen == nil {
		return open, nil
	}
	touched, err := w.config.Client.scan(ctx, w.seen, shards, w.config.MaxGap)
	if errors.Is(err, errTooFar) {
		return open, nil
	}
	if err != nil {
		return nil, err
	}
	var due []Account
	for _, a := range open {
		if touched[a.Address] || w.owed[a.Address] || !w.known[a.Address] {
			due = append(due, a)
		}
	}
	return due, nil
}

// lookAt credits the deposits of accounts, several at a time. When no liteserver can answer, it leaves
// the rest to the next round.
func (w *Watcher) lookAt(ctx context.Context, at View, accounts []Account) error {
	var mu sync.Mutex
	var first error
	owed := map[Address]bool{}
	giveUp := func() bool {
		mu.Lock()
		defer mu.Unlock()
		return ctx.Err() != nil || errors.Is(first, ErrUnreachable) || errors.Is(first, ErrNotSynchronised)
	}
	owe := func(a Address, err error) {
		mu.Lock()
		defer mu.Unlock()
		owed[a] = true
		first = cmp.Or(first, err)
	}
	slots := make(chan struct{}, w.config.Concurrency)
	var all sync.WaitGroup
	for _, a := range accounts {
		slots <- struct{}{}
		if giveUp() {
			owe(a.Address, ctx.Err())
			<-slots
			continue
		}
		all.Go(func() {
			defer func() { <-slots }()
			if err := w.credit(ctx, at, a); err != nil {
				owe(a.Address, err)
			}
		})
	}
	all.Wait()
	if w.owed = owed; len(owed) > 0 {
		return fmt.Errorf("ton: %d of %d addresses are left to the next round: %w", len(owed), len(accounts), first)
	}
	return nil
}

// credit credits the deposits of an account since its cursor.
func (w *Watcher) credit(ctx context.Context, at View, a Account) error {
	history, err := w.config.Client.history(ctx, at, a.Address, a.Cursor)
	if err != nil || len(history) == 0 {
		return err
	}
	var deposits []Deposit
	var costs []Cost
	for _, tx := range history {
		d, ok, err := deposited(a.Address, tx)
		if err != nil {
			return err
		}
		if ok {
			deposits = append(deposits, d)
			continue
		}
		c, ok, err := costOf(a.Address, tx)
		if err != nil {
			return err
		}
		if ok {
			costs = append(costs, c)
		}
	}
	if err := w.config.Deposits.Credit(ctx, a.Address, deposits, costs, cursorOf(history[len(history)-1])); err != nil {
		return fmt.Errorf("ton: credit %s: %w", a.Address, err)
	}
	return nil
}
