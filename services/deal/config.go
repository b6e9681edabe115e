package deal

import (
	"context"
	"crypto"
	"crypto/ed25519"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/adapters/ton"
	machine "github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/runtime/store"
	"github.com/fsmgen/fsmgen/services/deal/books"
	"github.com/fsmgen/fsmgen/services/deal/internal/sqltx"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// Publisher publishes deal.events: a *kafka.Publisher.
type Publisher interface {
	// Publish may be called again with the same ID, which the receiver knows a message by.
	Publish(ctx context.Context, d fsm.Dispatch) error
}

// Notifier notifies users and operators.
type Notifier interface {
	// Notify may be called again with the same ID.
	Notify(ctx context.Context, n Notice) error
}

// Notice is what a user or the operators hear about a deal.
type Notice struct {
	ID       string // the same for every attempt
	User     int64  // 0: the operators
	Deal     fsm.UUID
	Transfer fsm.Optional[fsm.UUID] // of the deal, if the notice is about one
	Status   string                 // the state that was reached
	Problem  string                 // "": none
}

// Database is a database of deals. [SQLite] and [Postgres] make one.
type Database[T any] struct {
	store  store.Store[T]
	in     func(T) sqltx.Tx
	ledger *ledger.Ledger[T]
	books  *books.Books[T]
	posts  *posts.Table[T]
}

// SQLite returns the database of a store in an SQLite file.
func SQLite(s store.Store[*sql.Tx]) Database[*sql.Tx] {
	return Database[*sql.Tx]{s, sqltx.SQLite, ledger.SQLite(), books.SQLite(s), posts.SQLite()}
}

// Postgres returns the database of a store on a PostgreSQL server.
func Postgres(s store.Store[pgx.Tx]) Database[pgx.Tx] {
	return Database[pgx.Tx]{s, sqltx.Postgres, ledger.Postgres(), books.Postgres(s), posts.Postgres()}
}

// Config configures a service. Database, Chain, Key, Channel, Publisher and Notifier are required.
type Config[T any] struct {
	Database Database[T]

	// Chain reads the chain and sends.
	Chain *ton.Client
	// Key signs for the escrow wallet and for the deals' addresses. It must stay the same.
	Key crypto.Signer
	// Escrow is the number of the escrow wallet, a highload wallet of version 3.
	Escrow uint32
	// Terms are what the platform takes of deals that are funded from now on.
	Terms ledger.Terms
	// Reserve is what a collection leaves of a deposit, in nano, for the fees of both wallets; 0: 0.05 TON.
	Reserve int64

	Channel posts.Channel
	Posts   posts.Config

	Publisher Publisher
	Notifier  Notifier

	Params         fsm.Optional[machine.Params]  // absent: those of the table
	TransferParams fsm.Optional[transfer.Params] // absent: those of the table
	Engine         engine.Config
}

const usualReserve = 50_000_000

func (c Config[T]) withDefaults() Config[T] {
	if c.Reserve == 0 {
		c.Reserve = usualReserve
	}
	c.Params = fsm.Some(c.Params.Or(machine.DefaultParams()))
	c.TransferParams = fsm.Some(c.TransferParams.Or(transfer.DefaultParams()))
	if c.Posts.Clock == nil {
		c.Posts.Clock = c.Engine.Clock
	}
	return c
}

// public returns the public half of the key.
func (c Config[T]) public() (ed25519.PublicKey, error) {
	if c.Database.store == nil || c.Chain == nil || c.Key == nil || c.Channel == nil || c.Publisher == nil || c.Notifier == nil {
		return nil, errors.New("deal: Config needs Database, Chain, Key, Channel, Publisher and Notifier")
	}
	public, ok := c.Key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("deal: Config has a key of %T: wallets sign with Ed25519", c.Key.Public())
	}
	return public, nil
}
