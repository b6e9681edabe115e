package ton_test

import (
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
)

// TestAddresses: an address that is shown is the library's, not bounceable, and is read again.
func TestAddresses(t *testing.T) {
	t.Parallel()
	seen := map[ton.Address]uint32{}
	for _, subwallet := range []uint32{0, 1, 2, 65537, 1<<32 - 1} { // 65537 is 1 in 16 bits
		a := deposit(t, subwallet)
		if other, there := seen[a]; there {
			t.Errorf("%d and %d have one address", subwallet, other)
		}
		seen[a] = subwallet
		shown := ton.Mainnet.Show(a)
		if want := library(a).Bounce(false).String(); shown != want || !strings.HasPrefix(shown, "UQ") {
			t.Errorf("%d: shown as %s, want %s", subwallet, shown, want)
		}
		if test := ton.Testnet.Show(a); test != library(a).Bounce(false).Testnet(true).String() || !strings.HasPrefix(test, "0Q") {
			t.Errorf("%d: shown on the test network as %s", subwallet, test)
		}
		for _, text := range []string{shown, library(a).Bounce(true).String()} {
			if got, err := ton.Mainnet.Parse(text); err != nil || got != a {
				t.Errorf("%s is %v, %v", text, got, err)
			}
		}
	}
}

// TestBadAddresses: what a user mistypes, or copies from another network, is refused.
func TestBadAddresses(t *testing.T) {
	t.Parallel()
	a := deposit(t, 1)
	good := ton.Mainnet.Show(a)
	broken := []byte(good)
	broken[20] ^= 1
	foreign := address.NewAddress(0, 5, a.Hash[:]).Bounce(false).String()
	for text, want := range map[string]error{
		"":                    ton.ErrAddress,
		good[:47]:             ton.ErrAddress,
		good + "A":            ton.ErrAddress,
		good[:47] + "\n":      ton.ErrAddress,
		string(broken):        ton.ErrAddress,
		a.String():            ton.ErrAddress, // the raw form has no checksum
		foreign:               ton.ErrAddress, // of a workchain that there is not
		ton.Testnet.Show(a):   ton.ErrOtherNetwork,
		strings.ToLower(good): ton.ErrAddress,
	} {
		if got, err := ton.Mainnet.Parse(text); !errors.Is(err, want) || got != (ton.Address{}) {
			t.Errorf("%q is %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{good, ton.Testnet.Show(a)} {
		if got, err := ton.Testnet.Parse(text); err != nil || got != a {
			t.Errorf("on the test network %q is %v, %v", text, got, err)
		}
	}
}

// TestRawAddresses: the raw form goes through JSON and a database.
func TestRawAddresses(t *testing.T) {
	t.Parallel()
	for _, a := range []ton.Address{deposit(t, 1), {Workchain: -1, Hash: [32]byte{31: 5}}} {
		data, err := json.Marshal(a)
		if err != nil {
			t.Fatal(err)
		}
		var got ton.Address
		if err := json.Unmarshal(data, &got); err != nil || got != a {
			t.Errorf("%s is %v, %v", data, got, err)
		}
	}
	for _, text := range []string{"", "0:", ":", "0:zz", "x:" + strings.Repeat("0", 64), "1:" + strings.Repeat("0", 64), "0:" + strings.Repeat("0", 63)} {
		var got ton.Address
		if err := got.UnmarshalText([]byte(text)); !errors.Is(err, ton.ErrAddress) {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// TestReservedSubwallet: the number of wallets that no program numbers is refused.
func TestReservedSubwallet(t *testing.T) {
	t.Parallel()
	public := key.Public().(ed25519.PublicKey)
	if a, err := ton.WalletAddress(public, 698983191); err == nil {
		t.Errorf("it has the address %s", a)
	}
	if _, err := ton.WalletAddress(public[:31], 1); err == nil {
		t.Error("a short key has an address")
	}
}

// FuzzParse: a text is refused, or is the address that is shown again, apart from its flags.
func FuzzParse(f *testing.F) {
	f.Add("UQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEA0")
	f.Add("0QAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAALrK")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		for _, network := range []ton.Network{ton.Mainnet, ton.Testnet} {
			a, err := network.Parse(text)
			if err != nil {
				if !errors.Is(err, ton.ErrAddress) && !errors.Is(err, ton.ErrOtherNetwork) {
					t.Errorf("%q: %v", text, err)
				}
				continue
			}
			if again, err := network.Parse(network.Show(a)); err != nil || again != a {
				t.Errorf("%q is %s, and %s when it is shown", text, a, again)
			}
		}
	})
}
