package main

import (
	"context"
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/adapters/kafka"
	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/adapters/ton"
	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal"
	"github.com/fsmgen/fsmgen/services/deal/access"
	"github.com/fsmgen/fsmgen/services/deal/httpapi"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/posts/directory"
	"github.com/fsmgen/fsmgen/services/internal/daemon"
	"github.com/fsmgen/fsmgen/services/internal/secretfile"
)

// serve is what the flags of the daemon say.
type serve struct {
	world
	api                daemon.Options
	store, dir, schema string
	network, walletKey string
	tokens, posts      string
	brokers            []string
	topic              string
	escrow             uint32
	terms              ledger.Terms
	testnet            bool
	params             machine.Params
	reconciles         bool
	json               bool // of what is reconciled
}

const (
	embedded = "sqlite"
	envStore = "DEALD_STORE"
)

func newServe(w world) *cobra.Command {
	s := &serve{world: w, params: machine.DefaultParams()}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Be the daemon, until SIGTERM",
		Long: `Be the daemon: answer the HTTP API, watch the chain, move money, publish posts and
verify them. Daemons that share a PostgreSQL database and a wallet share the work.

Notices to users and operators go to the log. Without --kafka deal.events are in the
history of the deals alone.`,
		Example: `  deald serve --ton global.config.json --wallet-key wallet.key --tokens tokens.key
  deald serve --store postgres://fsm@db/deals --ton global.config.json --wallet-key wallet.key --tokens tokens.key --kafka broker:9092`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			if s.network == "" || s.walletKey == "" || s.tokens == "" {
				return usageError{errors.New("--ton, --wallet-key and --tokens are needed")}
			}
			return s.run(c)
		},
	}
	s.partsFlags(c)
	s.serviceFlags(c)
	return c
}

// partsFlags are those of the database and of the chain.
func (s *serve) partsFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.store, "store", embedded, "sqlite, or `postgres://…`; with a password in it rather $"+envStore)
	f.StringVar(&s.dir, "dir", "deal-data", "folder of the SQLite file")
	f.StringVar(&s.schema, "schema", "", "schema of the PostgreSQL database (default public)")
	f.StringVar(&s.network, "ton", "", "`file` with the configuration of the TON network: its liteservers, and the block that proofs start from")
	f.BoolVar(&s.testnet, "testnet", false, "it is the test network")
	f.StringVar(&s.walletKey, "wallet-key", "", "`file` with the seed of the wallets' key: 64 hexadecimal digits")
	f.Uint32Var(&s.escrow, "escrow-wallet", 1<<31, "`number` of the escrow wallet; it must stay the same")
}

// serviceFlags are those of the service and of its API.
func (s *serve) serviceFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&s.tokens, "tokens", "", "`file` with the keys of tokens, one a line; read again when it changes")
	f.Int64Var(&s.terms.Commission, "commission", 500, "what the platform takes of a deal, in basis points: 500 are 5 percent")
	f.Int64Var(&s.terms.Fees, "network-fees", 100_000_000, "what is kept of a deal for the network, in nano TON")
	f.StringVar(&s.posts, "posts", "", "`folder` where posts are published (default posts in --dir)")
	f.StringSliceVar(&s.brokers, "kafka", nil, "`brokers` that deal.events are published to, host:port")
	f.StringVar(&s.topic, "kafka-topic", "deal.events", "their `topic`")
	f.BoolVar(&s.params.SilenceAsDocumented, "silence-pays", false, "pay what was not verified in time, as document 003 says; else an operator decides")
	f.StringVar(&s.api.Listen, "listen", "127.0.0.1:8410", "address of the HTTP API; port 0: any")
	f.StringVar(&s.api.Cert, "tls-cert", "", "`file` with the certificate of the HTTP API; default: no TLS")
	f.StringVar(&s.api.Key, "tls-key", "", "`file` with its key")
	f.StringSliceVar(&s.api.Hosts, "host", nil, "further `name` by which clients ask for this daemon, beside localhost and the address")
}

// run opens the database and goes on with workOn.
func (s *serve) run(c *cobra.Command) error {
	if v := os.Getenv(envStore); v != "" && !c.Flags().Changed("store") {
		s.store = v
	}
	if s.posts == "" {
		s.posts = filepath.Join(s.dir, "posts")
	}
	switch {
	case s.store == embedded:
		return s.onSQLite(c.Context())
	case strings.HasPrefix(s.store, "postgres://"), strings.HasPrefix(s.store, "postgresql://"):
		return s.onPostgres(c.Context())
	}
	return usageError{errors.New("--store is sqlite or postgres://…")}
}

func (s *serve) onSQLite(ctx context.Context) (err error) {
	file := filepath.Join(s.dir, "deals.db")
	if _, err := os.Stat(file); s.reconciles && err != nil {
		return usageError{fmt.Errorf("--dir: there are no deals: %w", err)}
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, file, sqlite.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	return workOn(ctx, s, deal.SQLite(store))
}

func (s *serve) onPostgres(ctx context.Context) (err error) {
	layout := postgres.Options{Schema: s.schema}
	config, err := postgres.PoolConfig(s.store, layout)
	if err != nil {
		return usageError{fmt.Errorf("--store: %w", err)}
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return err
	}
	defer pool.Close()
	store, err := postgres.New(pool, layout)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close(context.WithoutCancel(ctx))) }()
	return workOn[pgx.Tx](ctx, s, deal.Postgres(store))
}

// workOn puts the service together on a database, and serves it or reconciles its books.
func workOn[T any](ctx context.Context, s *serve, db deal.Database[T]) (err error) {
	log := slog.New(slog.NewJSONHandler(s.problems, nil))
	key, err := readKey(s.walletKey)
	if err != nil {
		return err
	}
	channel, err := directory.Open(s.posts, directory.Config{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, channel.Close()) }()
	publisher, stop, err := s.publisher(log)
	if err != nil {
		return err
	}
	defer stop()
	chain, err := ton.Open(ctx, ton.Config{File: s.network, Now: s.now})
	if err != nil {
		return fmt.Errorf("--ton %s: %w", s.network, err)
	}
	defer chain.Close()
	service, err := deal.New(deal.Config[T]{
		Database: db, Chain: chain, Key: key, Escrow: s.escrow, Terms: s.terms, Channel: channel, Publisher: publisher, Notifier: inLog{log},
		Params: fsm.Some(s.params), Engine: engine.Config{Logger: log},
	})
	if err != nil {
		return err
	}
	if s.reconciles {
		return reconcile(ctx, s, service)
	}
	if err := service.Migrate(ctx); err != nil {
		return err
	}
	return serveAPI(ctx, s, service, log)
}

// serveAPI is the daemon.
func serveAPI[T any](ctx context.Context, s *serve, service *deal.Service[T], log *slog.Logger) error {
	tokens, err := access.New(access.Config{KeyFile: s.tokens, Audience: audience, Now: s.now})
	if err != nil {
		return err
	}
	s.api.Asks = true
	api, err := daemon.Listen(s.api, log)
	if err != nil {
		return usageError{err}
	}
	log.InfoContext(ctx, "ready", "listen", api.Addr().String(), "escrow", s.chain().Show(service.Escrow()))
	return until(ctx, service, api, httpapi.New(httpapi.Config{
		Deals: service.Deals, Books: service.Books, Callers: tokens, Addresses: s.chain(), Params: s.params, NewID: newID, Log: log,
	}))
}

// until serves until ctx ends, or the service or the API does.
func until[T any](ctx context.Context, service *deal.Service[T], api *daemon.Server, handler http.Handler) error {
	const grace = 5 * time.Second // for requests that are under way
	working, stop := context.WithCancel(ctx)
	defer stop()
	ended := make(chan error, 2)
	go func() { defer stop(); ended <- service.Run(working) }()
	go func() { defer stop(); ended <- api.Serve(handler) }()
	<-working.Done()
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	err := errors.Join(api.Shutdown(closing), <-ended, <-ended)
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// readKey reads the key of the wallets.
func readKey(file string) (ed25519.PrivateKey, error) {
	f, err := secretfile.Open(file, func(seed string) error {
		if raw, err := hex.DecodeString(seed); err != nil || len(raw) != ed25519.SeedSize {
			return errors.New("a seed has 64 hexadecimal digits: make one with openssl rand -hex 32")
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("key file of the wallets: %w", err)
	}
	seeds, err := f.Secrets()
	if err != nil || len(seeds) != 1 {
		return nil, errors.Join(err, fmt.Errorf("key file of the wallets: %s has %d seeds, want one", file, len(seeds)))
	}
	raw, err := hex.DecodeString(seeds[0])
	return ed25519.NewKeyFromSeed(raw), err
}

// publisher publishes deal.events. stop ends it.
func (s *serve) publisher(log *slog.Logger) (p deal.Publisher, stop func(), err error) {
	if len(s.brokers) == 0 {
		return inHistory{}, func() {}, nil
	}
	k, err := kafka.NewPublisher(kafka.PublisherConfig{Brokers: s.brokers, Source: "/deals", Topics: map[string]string{"deal.events": s.topic}})
	if err != nil {
		return nil, nil, usageError{err}
	}
	log.Info("deal.events go to Kafka", "brokers", s.brokers, "topic", s.topic)
	return k, k.Close, nil
}
