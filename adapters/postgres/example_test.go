package postgres_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/fsmgen/fsmgen/adapters/postgres"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// An engine on PostgreSQL, with tables in a schema of their own. PoolConfig makes the settings of
// connections that the statements of the store are planned for.
func ExampleNew() {
	ctx := context.Background()
	options := postgres.Options{Schema: "uploads"}
	config, err := postgres.PoolConfig(os.Getenv("DATABASE_URL"), options)
	if err != nil {
		log.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		log.Fatal(err)
	}
	defer pool.Close()
	store, err := postgres.New(pool, options)
	if err != nil {
		log.Fatal(err)
	}
	uploads, err := engine.New(store, engine.Config{}, upload.Define[pgx.Tx](nil))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(uploads.Migrate(ctx))
}
