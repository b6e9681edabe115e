package tontest

import (
	"crypto/ed25519"
	"hash/crc32"
	"math/big"

	"github.com/xssnick/tonutils-go/adnl/keys"
	"github.com/xssnick/tonutils-go/tl"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

const (
	catchainSeqno = uint32(1)
	weight        = uint64(17)
)

// signer is the only validator.
type signer struct{ key ed25519.PrivateKey }

func (s signer) public() ed25519.PublicKey { return s.key.Public().(ed25519.PublicKey) }

// setHash is the short hash of the validators, which a block's header and its signatures have.
func (s signer) setHash() uint32 {
	set := ton.ValidatorSetHashable{
		CCSeqno: catchainSeqno, Validators: []ton.ValidatorItemHashable{{Key: s.public(), Weight: weight, Addr: zeros()}},
	}
	data, err := tl.Serialize(set, true)
	if err != nil {
		return 0 // no client accepts it
	}
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}

// parameters is the configuration of the chain, as far as a proof of the next block needs it.
func (s signer) parameters() *cell.Cell {
	const catchainConfig, validators = 28, 34
	catchain := cell.BeginCell().MustStoreUInt(0xc2, 8).MustStoreUInt(0, 8).
		MustStoreUInt(250, 32).MustStoreUInt(250, 32).MustStoreUInt(1000, 32).MustStoreUInt(7, 32).EndCell()
	validator := cell.BeginCell().MustStoreUInt(0x73, 8).MustStoreUInt(0x8e81278a, 32).MustStoreSlice(s.public(), 256).
		MustStoreUInt(weight, 64).MustStoreSlice(zeros(), 256).EndCell()
	list := dictionary(16, map[int64]*cell.Cell{0: validator})
	const forever = 1<<32 - 1
	set := cell.BeginCell().MustStoreUInt(0x12, 8).MustStoreUInt(0, 32).MustStoreUInt(forever, 32).
		MustStoreUInt(1, 16).MustStoreUInt(1, 16).MustStoreUInt(weight, 64).MustStoreDict(list).EndCell()
	return dictionary(32, map[int64]*cell.Cell{
		catchainConfig: cell.BeginCell().MustStoreRef(catchain).EndCell(),
		validators:     cell.BeginCell().MustStoreRef(set).EndCell(),
	}).AsCell()
}

func dictionary(bits uint, values map[int64]*cell.Cell) *cell.Dictionary {
	d := cell.NewDict(bits)
	for key, value := range values {
		_ = d.SetIntKey(big.NewInt(key), value) // these values fit
	}
	return d
}

// sign signs a block of the masterchain.
func (s signer) sign(id *ton.BlockIDExt) (ton.SignatureSet, error) {
	message, err := tl.Serialize(ton.BlockID{RootHash: id.RootHash, FileHash: id.FileHash}, true)
	if err != nil {
		return ton.SignatureSet{}, err
	}
	node, err := tl.Hash(keys.PublicKeyED25519{Key: s.public()})
	if err != nil {
		return ton.SignatureSet{}, err
	}
	return ton.SignatureSet{
		ValidatorSetHash: int32(s.setHash()), CatchainSeqno: int32(catchainSeqno),
		Signatures: []ton.Signature{{NodeIDShort: node, Signature: ed25519.Sign(s.key, message)}},
	}, nil
}
