package main

import (
	"context"
	"crypto/rand"
	"log/slog"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal"
)

// inHistory publishes nothing: the history of a deal has its events.
type inHistory struct{}

func (inHistory) Publish(context.Context, fsm.Dispatch) error { return nil }

// inLog writes notices to the log.
type inLog struct{ log *slog.Logger }

func (l inLog) Notify(ctx context.Context, n deal.Notice) error {
	level := slog.LevelInfo
	if n.User == 0 {
		level = slog.LevelWarn
	}
	l.log.Log(ctx, level, "notice", "user", n.User, "deal", n.Deal, "transfer", n.Transfer.String(), "status", n.Status, "problem", n.Problem, "id", n.ID)
	return nil
}

// network reads and shows addresses.
type network struct{ ton.Network }

// Raw returns an address that a user gives as records have it.
func (n network) Raw(text string) (string, error) {
	a, err := n.Parse(text)
	return a.String(), err
}

// Shown returns an address of a record for who pays to it.
func (n network) Shown(raw string) (string, error) {
	var a ton.Address
	err := a.UnmarshalText([]byte(raw))
	return n.Show(a), err
}

// chain is the network whose addresses users give and see.
func (s *serve) chain() network {
	if s.testnet {
		return network{ton.Testnet}
	}
	return network{ton.Mainnet}
}

// newID returns a random id (RFC 9562, version 4).
func newID() fsm.UUID {
	var id fsm.UUID
	_, _ = rand.Read(id[:]) // it never fails
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	return id
}
