package ton

import (
	"cmp"
	"context"
	"crypto"
	"crypto/ed25519"
	"errors"
	"fmt"
	"time"

	"github.com/xssnick/tonutils-go/tl"
	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/ton/wallet"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

var (
	// ErrBalance is returned when the wallet has less than the transfer.
	ErrBalance = errors.New("the balance is too small")
	// ErrFrozen is returned when the wallet is frozen, or is no wallet of version 4.
	ErrFrozen = errors.New("the wallet is frozen or of another kind")
)

// WalletConfig configures a Wallet.
type WalletConfig struct {
	// Client reads the chain and sends. Required.
	Client *Client
	// Key signs. Its public key is an ed25519.PublicKey: an ed25519.PrivateKey does, and so does a
	// service that keeps the key for itself. Required.
	Key crypto.Signer
	// Subwallet is the wallet's number: see WalletAddress.
	Subwallet uint32
	// ValidFor is how long after signing a transfer can be executed. Default: 5 min.
	ValidFor time.Duration
	// Slack is how long after ValidUntil, by the chain's clock, a transfer that is not in the chain
	// counts as expired. Blocks of shards may be a little older than the masterchain's.
	// Default: 1 min.
	Slack time.Duration
}

const (
	defaultValidFor = 5 * time.Minute
	defaultSlack    = time.Minute
)

// Wallet makes transfers from a wallet of version 4 (V4R2). It keeps nothing: what it signs is for the
// caller to store. It is safe for concurrent use; but two transfers that are signed before one of them
// is in the chain have the same seqno, and at most one of them is executed.
type Wallet struct {
	config  WalletConfig
	address Address
	init    *tlb.StateInit
}

// NewWallet returns the wallet of a key and a number. It asks neither the chain nor the key.
func NewWallet(config WalletConfig) (*Wallet, error) {
	if config.Client == nil || config.Key == nil {
		return nil, errors.New("ton: WalletConfig needs a Client and a Key")
	}
	public, err := publicKey("WalletConfig", config.Key)
	if err != nil {
		return nil, err
	}
	address, err := WalletAddress(public, config.Subwallet)
	if err != nil {
		return nil, err
	}
	init, err := wallet.GetStateInit(public, wallet.V4R2, config.Subwallet)
	if err != nil {
		return nil, fmt.Errorf("ton: code of the wallet: %w", err)
	}
	config.ValidFor = cmp.Or(config.ValidFor, defaultValidFor)
	config.Slack = cmp.Or(config.Slack, defaultSlack)
	return &Wallet{config: config, address: address, init: init}, nil
}

// publicKey returns the key by which a wallet knows the signer that a configuration has.
func publicKey(config string, key crypto.Signer) (ed25519.PublicKey, error) {
	public, ok := key.Public().(ed25519.PublicKey)
	if !ok {
		return nil, fmt.Errorf("ton: %s.Key has a %T, and wallets have an ed25519.PublicKey", config, key.Public())
	}
	return public, nil
}

// Address returns the wallet's address.
func (w *Wallet) Address() Address { return w.address }

// Sign signs a transfer, with the seqno that the wallet has in the last block. It sends nothing. Its
// error is ErrBalance if the wallet has less than the amount, whatever fees come on top.
func (w *Wallet) Sign(ctx context.Context, t Transfer) (Signed, error) {
	if err := t.validate(); err != nil {
		return Signed{}, err
	}
	view, err := w.config.Client.View(ctx)
	if err != nil {
		return Signed{}, err
	}
	account, err := w.config.Client.account(ctx, view, w.address)
	if err != nil {
		return Signed{}, err
	}
	state, err := stateOf(account)
	if err != nil {
		return Signed{}, fmt.Errorf("ton: wallet %s: %w", w.address, err)
	}
	if state.Nano < t.Nano {
		return Signed{}, fmt.Errorf("ton: transfer %d nano from %s: %w: it has %d", t.Nano, w.address, ErrBalance, state.Nano)
	}
	s := Signed{Transfer: t, From: w.address, Seqno: state.seqno, ValidUntil: view.Time.Add(w.config.ValidFor), Since: state.Last}
	return s, w.sign(&s, state.deployed)
}

// sign fills in the message and its hash.
func (w *Wallet) sign(s *Signed, deployed bool) error {
	unsigned, err := order(w.config.Subwallet, s.ValidUntil, s.Seqno, s.Transfer)
	if err != nil {
		return fmt.Errorf("ton: transfer to %s: %w", s.To, err)
	}
	signature, err := w.config.Key.Sign(nil, unsigned.EndCell().Hash(), crypto.Hash(0))
	if err != nil {
		return fmt.Errorf("ton: sign a transfer from %s: %w", w.address, err)
	}
	body := cell.BeginCell()
	if err := errors.Join(body.StoreSlice(signature, ed25519.SignatureSize*8), body.StoreBuilder(unsigned)); err != nil {
		return fmt.Errorf("ton: sign a transfer from %s: %w", w.address, err)
	}
	init := w.init
	if deployed {
		init = nil
	}
	return s.envelop(body.EndCell(), init)
}

// Send sends a signed transfer to a liteserver, which passes it on. After nil, and after any error, it
// may be executed or not: Outcome tells. Sending it again is harmless.
func (w *Wallet) Send(ctx context.Context, s Signed) error { return w.config.Client.send(ctx, s) }

// send sends the bytes of a signed transfer.
func (c *Client) send(ctx context.Context, s Signed) error {
	what := fmt.Sprintf("send the transfer %s from %s", s.BodyHash, s.From)
	var answer tl.Serializable
	if err := c.servers.QueryLiteserver(ctx, ton.SendMessage{Body: s.BOC}, &answer); err != nil {
		return classify(what, err)
	}
	switch got := answer.(type) {
	case ton.SendMessageStatus:
		return nil
	case ton.LSError:
		return classify(what, got)
	}
	return fmt.Errorf("ton: %s: %w: got a %T", what, ErrProof, answer)
}

// walletState is what an account says of a wallet.
type walletState struct {
	Holding
	deployed bool
	seqno    uint32
}

// stateOf reads a wallet. One that does not exist, or has no code yet, has the seqno 0.
func stateOf(a *tlb.Account) (walletState, error) {
	s := walletState{Holding: holdingOf(a)}
	if !a.IsActive {
		return s, nil
	}
	switch a.State.Status {
	case tlb.AccountStatusUninit:
		return s, nil
	case tlb.AccountStatusFrozen:
		return walletState{}, ErrFrozen
	}
	if wallet.GetWalletVersion(a) != wallet.V4R2 {
		return walletState{}, ErrFrozen
	}
	data, err := a.Data.BeginParse()
	if err != nil {
		return walletState{}, fmt.Errorf("%w: %w", ErrProof, err)
	}
	seqno, err := data.LoadUInt(32)
	if err != nil {
		return walletState{}, fmt.Errorf("%w: %w", ErrProof, err)
	}
	s.deployed, s.seqno = true, uint32(seqno)
	return s, nil
}
