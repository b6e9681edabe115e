package ton_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

func wallet(t testing.TB, n *network, subwallet uint32) *ton.Wallet {
	t.Helper()
	w, err := ton.NewWallet(ton.WalletConfig{Client: n.client, Key: key, Subwallet: subwallet})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func sign(t testing.TB, w *ton.Wallet, to ton.Transfer) ton.Signed {
	t.Helper()
	s, err := w.Sign(t.Context(), to)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// transfer signs and sends.
func transfer(t testing.TB, _ *network, w *ton.Wallet, to ton.Transfer) ton.Signed {
	t.Helper()
	s := sign(t, w, to)
	if err := w.Send(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return s
}
