package ton

import (
	"context"
	"errors"
	"fmt"

	"github.com/xssnick/tonutils-go/tlb"
	"github.com/xssnick/tonutils-go/ton"
	"github.com/xssnick/tonutils-go/tvm/cell"
)

// blockKey identifies a block of a shard.
type blockKey struct {
	workchain int32
	shard     int64
	seqno     uint32
	hash      [32]byte
}

func keyOf(id *ton.BlockIDExt) blockKey {
	return blockKey{id.Workchain, id.Shard, id.SeqNo, [32]byte(id.RootHash)}
}

// frontier is the last block of every shard at a view.
type frontier map[blockKey]*ton.BlockIDExt

// shards returns the last blocks of the shards of the basic workchain, as a block of the masterchain
// has them.
func (c *Client) shards(ctx context.Context, at View) (frontier, error) {
	list, err := c.api.WaitForBlock(at.Seqno).GetBlockShardsInfo(ctx, at.block)
	if err != nil {
		return nil, classify("shards", err)
	}
	found := frontier{}
	for _, id := range list {
		if id.Workchain == 0 {
			found[keyOf(id)] = id
		}
	}
	return found, nil
}

// errTooFar is returned by a scan of more blocks than its limit.
var errTooFar = errors.New("too many blocks")

// scan returns the accounts that have a transaction in the blocks after one frontier, up to another.
// It follows the hashes that a block has of the blocks before it, so no block can be missing: also
// not where shards have split or merged.
func (c *Client) scan(ctx context.Context, from, to frontier, limit int) (map[Address]bool, error) {
	touched := map[Address]bool{}
	seen := map[blockKey]bool{}
	var open []*ton.BlockIDExt
	add := func(ids ...*ton.BlockIDExt) {
		for _, id := range ids {
			if key := keyOf(id); from[key] == nil && !seen[key] {
				seen[key] = true
				open = append(open, id)
			}
		}
	}
	for _, id := range to {
		add(id)
	}
	for ; len(open) > 0; limit-- {
		if limit == 0 {
			return nil, errTooFar
		}
		id := open[len(open)-1]
		open = open[:len(open)-1]
		data, err := c.api.GetBlockDataAsCell(ctx, id)
		if err != nil {
			return nil, classify(fmt.Sprintf("block %d of shard %016x", id.SeqNo, uint64(id.Shard)), err)
		}
		parents, err := readBlock(data, touched)
		if err != nil {
			return nil, fmt.Errorf("ton: block %d of shard %016x: %w: %w", id.SeqNo, uint64(id.Shard), ErrProof, err)
		}
		add(parents...)
	}
	return touched, nil
}

// The references of a block's cell.
const (
	refInfo  = 0
	refExtra = 3
	// refAccounts is that of the extra part.
	refAccounts = 2
)

// readBlock adds the accounts of a block to touched, and returns the blocks before it.
func readBlock(data *cell.Cell, touched map[Address]bool) ([]*ton.BlockIDExt, error) {
	info, err := data.PeekRef(refInfo)
	if err != nil {
		return nil, err
	}
	var header tlb.BlockHeader
	if err := tlb.Parse(&header, info); err != nil {
		return nil, err
	}
	extra, err := data.PeekRef(refExtra)
	if err != nil {
		return nil, err
	}
	accounts, err := extra.PeekRef(refAccounts)
	if err != nil {
		return nil, err
	}
	var blocks tlb.ShardAccountBlocks
	if err := tlb.Parse(&blocks, accounts); err != nil {
		return nil, err
	}
	list, err := blocks.Accounts.RangeExtra(false, false)
	if err != nil {
		return nil, err
	}
	for _, entry := range list {
		key, err := entry.Key.BeginParse()
		if err != nil {
			return nil, err
		}
		hash, err := key.LoadSlice(256)
		if err != nil {
			return nil, err
		}
		touched[Address{int8(header.Shard.WorkchainID), [32]byte(hash)}] = true
	}
	return ton.GetParentBlocks(&header)
}
