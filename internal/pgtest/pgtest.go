// Package pgtest is what tests of several packages do with the PostgreSQL server
// that tools/parts runs. Nothing but tests imports it.
package pgtest

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/internal/proxytest"
)

// Variable names the server.
const Variable = "FSMGEN_POSTGRES_DSN"

// DSN is the server. Without one the test is skipped, or fails where the parts
// are required.
func DSN(t testing.TB) string {
	t.Helper()
	return parts.Address(t, Variable)
}

// Schema names a schema that no other test uses. It is dropped with the test.
// Whoever uses it creates it.
func Schema(t testing.TB, dsn string) string {
	t.Helper()
	name := make([]byte, 8)
	_, _ = rand.Read(name) // never fails
	schema := "fsmgen_" + hex.EncodeToString(name)
	t.Cleanup(func() {
		ctx := context.Background() // that of the test has ended
		conn, err := pgx.Connect(ctx, dsn)
		if err != nil {
			t.Error(err)
			return
		}
		if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
		if err := conn.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return schema
}

// Proxy stands in front of a server. Connections go through it with its Dial as
// their DialFunc.
func Proxy(t testing.TB, dsn string) *proxytest.Proxy {
	t.Helper()
	config, err := pgconn.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	network, server := pgconn.NetworkAddress(config.Host, config.Port)
	return proxytest.New(t, network, server)
}
