package ton

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// HighloadConfig configures a Highload wallet.
type HighloadConfig struct {
	// Client, Key and Slack are as in WalletConfig.
	Client *Client
	Key    crypto.Signer
	Slack  time.Duration
	// ValidFor is how long after signing a transfer can be executed. It is a part of the wallet's
	// address: it must not be changed. Default: 1 h.
	ValidFor time.Duration
	// Subwallet is the wallet's number, another one than ReservedSubwallet.
	Subwallet uint32
}

const (
	highloadValidFor = time.Hour
	maxValidFor      = 1<<22 - 1 // seconds
	minValidFor      = 6
	// clockSlack is how far the clock of a shard's block may be behind that of the masterchain's.
	clockSlack = 10 * time.Second
)

// Highload makes transfers from a highload wallet of version 3: any number of them at the same time. A
// query id takes the place of the seqno. It keeps nothing, and is safe for concurrent use.
type Highload struct {
	config  HighloadConfig
	address Address
	init    *tlb.StateInit
}

// NewHighload returns the wallet of a key and a number. It asks neither the chain nor the key.
func NewHighload(config HighloadConfig) (*Highload, error) {
	if config.Client == nil || config.Key == nil {
		return nil, errors.New("ton: HighloadConfig needs a Client and a Key")
	}
	public, err := publicKey("HighloadConfig", config.Key)
	if err != nil {
		return nil, err
	}
	config.ValidFor = cmp.Or(config.ValidFor, highloadValidFor)
	config.Slack = cmp.Or(config.Slack, defaultSlack)
	seconds := config.ValidFor / time.Second
	switch {
	case config.Subwallet == ReservedSubwallet:
		return nil, fmt.Errorf("ton: the subwallet %d is reserved: take another", config.Subwallet)
	case seconds < minValidFor || seconds > maxValidFor:
		return nil, fmt.Errorf("ton: HighloadConfig.ValidFor is %s, want %d to %d seconds", config.ValidFor, minValidFor, maxValidFor)
	}
	version := wallet.ConfigHighloadV3{MessageTTL: uint32(seconds)}
	init, err := wallet.GetStateInit(public, version, config.Subwallet)
	if err != nil {
		return nil, fmt.Errorf("ton: code of the wallet: %w", err)
	}
	address, err := wallet.AddressFromPubKey(public, version, config.Subwallet)
	if err != nil {
		return nil, fmt.Errorf("ton: address of the wallet: %w", err)
	}
	return &Highload{config: config, address: addressOf(address), init: init}, nil
}

// Address returns the wallet's address.
func (h *Highload) Address() Address { return h.address }

// A query id is a number of 23 bits: a shift, and a bit in a cell of the wallet. A cell has 1023 bits,
// so the bit 1023 does not exist: the contract throws before it accepts such a message.
const (
	bitsPerShift = 1023
	shifts       = 1 << 13
	shiftBits    = 10
)

// QueryIDs is how many query ids there are. The last one is left for an emergency.
const QueryIDs = shifts*bitsPerShift - 1

// QueryID returns the query id of the n-th transfer. It is one that the contract executes, and comes
// again after QueryIDs transfers: within two times ValidFor there must be fewer.
func QueryID(n uint64) uint32 {
	n %= QueryIDs
	return uint32(n/bitsPerShift<<shiftBits | n%bitsPerShift)
}

// Sign signs the n-th transfer of the wallet, with QueryID(n). A number must be used once: of two
// transfers with one query id, the chain executes one. It sends nothing. Its error is ErrBalance if the
// wallet has less than the amount, whatever fees and other transfers come on top.
func (h *Highload) Sign(ctx context.Context, t Transfer, n uint64) (Signed, error) {
	if err := t.validate(); err != nil {
		return Signed{}, err
	}
	view, err := h.config.Client.View(ctx)
	if err != nil {
		return Signed{}, err
	}
	account, err := h.config.Client.account(ctx, view, h.address)
	if err != nil {
		return Signed{}, err
	}
	if account.IsActive && account.State.Status == tlb.AccountStatusFrozen {
		return Signed{}, fmt.Errorf("ton: wallet %s: %w", h.address, ErrFrozen)
	}
	if nano := holdingOf(account).Nano; nano < t.Nano {
		return Signed{}, fmt.Errorf("ton: transfer %d nano from %s: %w: it has %d", t.Nano, h.address, ErrBalance, nano)
	}
	created := view.Time.Add(-clockSlack)
	s := Signed{Transfer: t, From: h.address, Seqno: QueryID(n), ValidUntil: created.Add(h.config.ValidFor)}
	init := h.init
	if account.IsActive {
		s.Since = Cursor{account.LastTxLT, Hash(account.LastTxHash)}
		if account.State.Status == tlb.AccountStatusActive {
			init = nil
		}
	}
	order, err := h.order(s, created)
	if err != nil {
		return Signed{}, fmt.Errorf("ton: transfer to %s: %w", s.To, err)
	}
	signature, err := h.config.Key.Sign(nil, order.Hash(), crypto.Hash(0))
	if err != nil {
		return Signed{}, fmt.Errorf("ton: sign a transfer from %s: %w", h.address, err)
	}
	body := cell.BeginCell()
	if err := errors.Join(body.StoreSlice(signature, ed25519.SignatureSize*8), body.StoreRef(order)); err != nil {
		return Signed{}, fmt.Errorf("ton: sign a transfer from %s: %w", h.address, err)
	}
	return s, s.envelop(body.EndCell(), init)
}

// order is what the wallet gets signed.
func (h *Highload) order(s Signed, created time.Time) (*cell.Cell, error) {
	message, err := s.message()
	if err != nil {
		return nil, err
	}
	return cell.BeginCell().MustStoreUInt(uint64(h.config.Subwallet), 32).MustStoreRef(message).MustStoreUInt(sendMode, 8).
		MustStoreUInt(uint64(s.Seqno), 23).MustStoreUInt(uint64(created.Unix()), 64).
		MustStoreUInt(uint64(h.config.ValidFor/time.Second), 22).EndCell(), nil
}

// Send is that of Wallet.
func (h *Highload) Send(ctx context.Context, s Signed) error { return h.config.Client.send(ctx, s) }

// Outcome is that of Wallet, and never says Displaced: a transfer whose query id another one has taken
// expires.
func (h *Highload) Outcome(ctx context.Context, s Signed) (Outcome, error) {
	return h.config.Client.outcome(ctx, s, func(_ *tlb.Account, at View) (State, error) {
		return absent(s, s.Seqno, at.Time.Add(-h.config.Slack)), nil
	})
}
