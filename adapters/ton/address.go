package ton

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/xssnick/tonutils-go/address"
	"github.com/xssnick/tonutils-go/crc16"
	"github.com/xssnick/tonutils-go/ton/wallet"
)

// What is wrong with an address.
var (
	// ErrAddress is returned for a text that is no address, or whose checksum is wrong.
	ErrAddress = errors.New("no address")
	// ErrOtherNetwork is returned for an address of the test network where the main network is used.
	ErrOtherNetwork = errors.New("an address of another network")
)

// Address is an account of the chain. It is comparable; the zero value is none.
type Address struct {
	Workchain int8
	Hash      [32]byte
}

// String returns the raw form, which has no checksum: "0:" and 64 hexadecimal digits. It is the form
// for databases and logs; users see that of Network.Show.
func (a Address) String() string {
	return strconv.Itoa(int(a.Workchain)) + ":" + hex.EncodeToString(a.Hash[:])
}

// MarshalText returns the raw form.
func (a Address) MarshalText() ([]byte, error) { return []byte(a.String()), nil }

// UnmarshalText reads the raw form. Its error is ErrAddress.
func (a *Address) UnmarshalText(text []byte) error {
	chain, hash, _ := strings.Cut(string(text), ":")
	workchain, err := strconv.ParseInt(chain, 10, 8)
	if err != nil || len(hash) != hex.EncodedLen(len(a.Hash)) {
		return fmt.Errorf("ton: %q: %w", text, ErrAddress)
	}
	decoded, err := hex.DecodeString(hash)
	if err != nil || !isWorkchain(int8(workchain)) {
		return fmt.Errorf("ton: %q: %w", text, ErrAddress)
	}
	*a = Address{int8(workchain), [32]byte(decoded)}
	return nil
}

// isWorkchain reports whether there is such a workchain: the masterchain, or the basic one.
func isWorkchain(w int8) bool { return w == 0 || w == -1 }

// library returns the address as the library takes it.
func (a Address) library() *address.Address {
	return address.NewAddress(0, byte(a.Workchain), a.Hash[:])
}

// addressOf returns an address of the library; that of an absent one is the zero value.
func addressOf(a *address.Address) Address {
	if a == nil || a.Type() != address.StdAddress || len(a.Data()) != len(Address{}.Hash) {
		return Address{}
	}
	return Address{int8(a.Workchain()), [32]byte(a.Data())}
}

// Network is a chain with a name of its own for its addresses.
type Network int

const (
	// Mainnet is the main network.
	Mainnet Network = iota
	// Testnet is the test network.
	Testnet
)

// The layout of an address as users see it.
const (
	sizeOfText    = 48
	sizeOfAddress = 36 // tag, workchain, hash, checksum
	sizeOfData    = 34
	tagBounceable = 0x11
	tagPlain      = 0x51
	tagTestnet    = 0x80
)

// Show returns an address for those who pay to it: not bounceable, because a first payment to an
// account that is not deployed would bounce.
func (n Network) Show(a Address) string {
	data := make([]byte, 0, sizeOfAddress)
	tag := byte(tagPlain)
	if n == Testnet {
		tag |= tagTestnet
	}
	data = append(append(data, tag, byte(a.Workchain)), a.Hash[:]...)
	data = binary.BigEndian.AppendUint16(data, crc16.ChecksumXMODEM(data))
	return base64.URLEncoding.EncodeToString(data)
}

// Parse reads an address that a user gave: 48 characters with a checksum, bounceable or not. Its
// error is ErrAddress or ErrOtherNetwork. The test network takes addresses of the main network too:
// an address there may have any form.
func (n Network) Parse(text string) (Address, error) {
	data, err := base64.URLEncoding.DecodeString(strings.NewReplacer("+", "-", "/", "_").Replace(text))
	if err != nil || len(text) != sizeOfText || len(data) != sizeOfAddress {
		return Address{}, fmt.Errorf("ton: %.64q: %w: it is not 48 characters of base64", text, ErrAddress)
	}
	if binary.BigEndian.Uint16(data[sizeOfData:]) != crc16.ChecksumXMODEM(data[:sizeOfData]) {
		return Address{}, fmt.Errorf("ton: %q: %w: its checksum is wrong", text, ErrAddress)
	}
	tag := data[0]
	if tag&^tagTestnet != tagBounceable && tag&^tagTestnet != tagPlain || !isWorkchain(int8(data[1])) {
		return Address{}, fmt.Errorf("ton: %q: %w: it has an unknown tag or workchain", text, ErrAddress)
	}
	if n == Mainnet && tag&tagTestnet != 0 {
		return Address{}, fmt.Errorf("ton: %q: %w: it is of the test network", text, ErrOtherNetwork)
	}
	return Address{int8(data[1]), [32]byte(data[2:sizeOfData])}, nil
}

// ReservedSubwallet is the subwallet of wallets that no program numbers. A sequence of numbers for
// WalletAddress must skip it.
const ReservedSubwallet = wallet.DefaultSubwallet

// WalletAddress returns the address of a wallet of version 4 (V4R2) by its number, whether it is
// deployed or not. One key has a wallet for each of 2^32-1 numbers; ReservedSubwallet is refused,
// because any wallet program finds money there.
func WalletAddress(key ed25519.PublicKey, subwallet uint32) (Address, error) {
	if subwallet == ReservedSubwallet {
		return Address{}, fmt.Errorf("ton: the subwallet %d is reserved: skip it", subwallet)
	}
	if len(key) != ed25519.PublicKeySize {
		return Address{}, fmt.Errorf("ton: a public key of %d bytes, want %d", len(key), ed25519.PublicKeySize)
	}
	found, err := wallet.AddressFromPubKey(key, wallet.V4R2, subwallet)
	if err != nil {
		return Address{}, fmt.Errorf("ton: address of the subwallet %d: %w", subwallet, err)
	}
	return addressOf(found), nil
}
