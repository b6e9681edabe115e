package ton

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/ton"
)

// Config configures a Client.
type Config struct {
	// File is the path of a network configuration, such as global.config.json. It names the
	// liteservers, and the block from which every proof starts. Required, unless URL is set.
	File string
	// URL is where the network configuration is fetched from once. The server there decides which
	// chain is believed: prefer File.
	URL string
	// Timeout is how long one liteserver may take to answer before the next one is asked.
	// Default: 5 s.
	Timeout time.Duration
	// Reconnect is the pause before a lost connection is tried again. Default: 1 s.
	Reconnect time.Duration
	// MaxLag is how old the last block may be. Default: 2 min.
	MaxLag time.Duration
	// Unproved takes answers without proofs. It is for chains that have none.
	Unproved bool
	// Now is the clock that MaxLag is measured with. Default: time.Now.
	Now func() time.Time
}

func (c Config) withDefaults() Config {
	c.Timeout = cmp.Or(c.Timeout, 5*time.Second)
	c.Reconnect = cmp.Or(c.Reconnect, time.Second)
	c.MaxLag = cmp.Or(c.MaxLag, 2*time.Minute)
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Client reads the chain and sends messages to it, over any of several liteservers. It is safe for
// concurrent use.
type Client struct {
	config  Config
	servers *servers
	api     ton.APIClientWrapped
	highest atomic.Uint32 // the seqno of the last proved block
}

// Open reads the configuration and connects. It returns when one liteserver is connected; the others
// follow. Its error is ErrUnreachable if none can be connected before ctx ends or Config.Timeout is
// over.
func Open(ctx context.Context, config Config) (*Client, error) {
	config = config.withDefaults()
	network, err := config.network(ctx)
	if err != nil {
		return nil, err
	}
	servers := connect(config, network)
	if err := servers.await(ctx); err != nil {
		servers.close()
		return nil, fmt.Errorf("ton: connect to one of %d liteservers: %w", len(network.Liteservers), err)
	}
	policy := ton.ProofCheckPolicySecure
	if config.Unproved {
		policy = ton.ProofCheckPolicyUnsafe
	}
	api := ton.NewAPIClient(servers, policy)
	api.SetTrustedBlockFromConfig(network)
	return &Client{config: config, servers: servers, api: api}, nil
}

// network reads the network configuration, and refuses one that pins no block.
func (c Config) network(ctx context.Context) (*liteclient.GlobalConfig, error) {
	var network *liteclient.GlobalConfig
	var err error
	switch {
	case (c.File == "") == (c.URL == ""):
		return nil, errors.New("ton: set one of Config.File and Config.URL: where the network configuration is")
	case c.File != "":
		network, err = liteclient.GetConfigFromFile(c.File)
	default:
		network, err = liteclient.GetConfigFromUrl(ctx, c.URL)
	}
	if err != nil {
		return nil, fmt.Errorf("ton: read the network configuration: %w", err)
	}
	const hash = 32
	block := network.Validator.InitBlock
	switch {
	case len(network.Liteservers) == 0:
		return nil, errors.New("ton: the network configuration names no liteserver: add some under liteservers")
	case len(block.RootHash) != hash || len(block.FileHash) != hash || block.SeqNo == 0:
		return nil, errors.New("ton: the network configuration pins no block: add validator.init_block, from which proofs start")
	}
	return network, nil
}

// Close ends all connections.
func (c *Client) Close() { c.servers.close() }

// Calls returns how many queries the client has sent to liteservers, repeats included.
func (c *Client) Calls() uint64 { return c.servers.calls.Load() }

// View is a proved block of the masterchain. What is read at a view is as old as the view.
type View struct {
	Seqno uint32
	Time  time.Time // when the block was made, by the chain's own clock
	block *ton.BlockIDExt
}

// View returns the last block of the masterchain. The signatures of validators lead to it from the
// block that the configuration pins. If a liteserver fails, or has no block that is newer than the last
// view, the others are asked too: one that lags must not be believed for ever.
func (c *Client) View(ctx context.Context) (View, error) {
	known := c.highest.Load()
	one := c.servers.StickyContext(ctx)
	var best View
	var failed error
	for range c.servers.count {
		view, err := c.look(one)
		switch {
		case err == nil && view.Seqno > known:
			return view, nil
		case err == nil:
			best = view
		case ctx.Err() != nil:
			return View{}, err
		default:
			failed = cmp.Or(failed, err)
		}
		next, left := c.servers.StickyContextNextNode(one)
		if left != nil {
			break
		}
		one = next
	}
	if best.block != nil {
		return best, nil
	}
	return View{}, failed
}

// look returns what one liteserver has as the last block.
func (c *Client) look(ctx context.Context) (View, error) {
	master, err := c.api.GetMasterchainInfo(ctx)
	if err != nil {
		return View{}, classify("last block", err)
	}
	header, err := c.api.GetBlockHeader(ctx, master)
	if err != nil {
		return View{}, classify("time of the last block", err)
	}
	view := View{Seqno: master.SeqNo, Time: time.Unix(int64(header.GenUtime), 0), block: master}
	if highest := c.raise(master.SeqNo); view.Seqno < highest {
		return View{}, fmt.Errorf("ton: the last block is %d, and %d was seen before: %w", view.Seqno, highest, ErrNotSynchronised)
	}
	if lag := c.config.Now().Sub(view.Time); lag > c.config.MaxLag {
		return View{}, fmt.Errorf("ton: the last block is %s old: %w", lag, ErrNotSynchronised)
	}
	return view, nil
}

// raise returns the highest seqno so far.
func (c *Client) raise(seqno uint32) uint32 {
	for {
		highest := c.highest.Load()
		if seqno <= highest || c.highest.CompareAndSwap(highest, seqno) {
			return max(seqno, highest)
		}
	}
}
