package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// An engine on a file. Another process that opens the same file shares its work.
func ExampleOpen() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "uploads")
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	store, err := sqlite.Open(ctx, filepath.Join(dir, "uploads.db"), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer func() { _ = store.Close() }()
	uploads, err := engine.New(store, engine.Config{}, upload.Define[*sql.Tx](nil))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(uploads.Migrate(ctx))
	// Output: <nil>
}

// A store for a test or a trial: its file is removed with it.
func ExampleTemporary() {
	store, err := sqlite.Temporary(context.Background(), sqlite.Options{})
	if err != nil {
		log.Fatal(err)
	}
	_, err = os.Stat(store.Path())
	fmt.Println(err)
	err = store.Close()
	_, gone := os.Stat(store.Path())
	fmt.Println(err, os.IsNotExist(gone))
	// Output:
	// <nil>
	// <nil> true
}
