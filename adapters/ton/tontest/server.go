package tontest

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/xssnick/tonutils-go/liteclient"
	"github.com/xssnick/tonutils-go/tl"
	"github.com/xssnick/tonutils-go/ton"
)

// Server is a liteserver of a chain. A chain can have several; each has faults of its own.
type Server struct {
	chain   *Chain
	key     ed25519.PrivateKey
	address *net.TCPAddr

	mu      sync.Mutex
	server  *liteclient.Server
	clients map[*liteclient.ServerClient]bool
	doomed  map[*liteclient.ServerClient]bool // get no further answer
	faults  Faults
	calls   map[string]int
}

// Serve starts a liteserver on a free port of loopback. It stops with the test.
func (c *Chain) Serve() *Server {
	c.t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		c.t.Fatal(err)
	}
	s := &Server{chain: c, key: key, calls: map[string]int{}, doomed: map[*liteclient.ServerClient]bool{}}
	for s.address == nil {
		if address := freeAddress(c); s.listen(address) == nil {
			s.address = address
		}
	}
	c.t.Cleanup(s.Stop)
	return s
}

// freeAddress asks the kernel for a port. Another process may take it before the liteserver does.
func freeAddress(c *Chain) *net.TCPAddr {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		c.t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr)
}

// Restart starts a stopped liteserver again, on its port.
func (s *Server) Restart() {
	s.chain.t.Helper()
	if err := s.listen(s.address); err != nil {
		s.chain.t.Fatal(err)
	}
}

// listen returns when the liteserver listens, or the reason why it can't.
func (s *Server) listen(address *net.TCPAddr) error {
	server := liteclient.NewServer([]ed25519.PrivateKey{s.key})
	s.mu.Lock()
	s.server, s.clients = server, map[*liteclient.ServerClient]bool{}
	s.mu.Unlock()
	server.SetQueryHandler(s.query)
	server.SetConnectionHook(func(c *liteclient.ServerClient) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.clients[c] = true
		return nil
	})
	ended := make(chan error, 1)
	go func() { ended <- server.Listen(address.String()) }()
	for {
		select {
		case err := <-ended:
			return err
		default:
		}
		if connection, err := net.DialTCP("tcp", nil, address); err == nil {
			return connection.Close()
		}
		time.Sleep(time.Millisecond) // between two looks
	}
}

// Stop ends all connections and takes no others.
func (s *Server) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.server.Close()
	for c := range s.clients {
		c.Close()
	}
	clear(s.clients)
}

// query answers a query, in a goroutine of its own: it may wait for a block.
func (s *Server) query(_ context.Context, client *liteclient.ServerClient, id []byte, query tl.Serializable) {
	go func() {
		if answer := s.answer(client, query); answer != nil {
			client.Answer(id, answer)
		}
	}()
}

// Calls returns how many queries of a kind the liteserver has got, by the name of the query's Go type
// in package ton, such as "GetAccountState".
func (s *Server) Calls(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[kind]
}

// Genesis returns the first block of the masterchain, which a configuration trusts.
func (c *Chain) Genesis() *ton.BlockIDExt { return c.blocks[0].id.Copy() }

// ConfigFile writes a network configuration with the liteservers and the genesis block as the trusted
// one, and returns its path.
func (c *Chain) ConfigFile(servers ...*Server) string {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "network.json")
	if err := os.WriteFile(path, c.Config(servers...), 0o600); err != nil {
		c.t.Fatal(err)
	}
	return path
}

// Config returns the content of ConfigFile.
func (c *Chain) Config(servers ...*Server) []byte {
	type object = map[string]any
	list := []object{}
	for _, s := range servers {
		public := base64.StdEncoding.EncodeToString(s.key.Public().(ed25519.PublicKey))
		list = append(list, object{
			"ip": int32(binary.BigEndian.Uint32(s.address.IP.To4())), "port": s.address.Port,
			"id": object{"@type": "pub.ed25519", "key": public},
		})
	}
	block := c.Genesis()
	config, err := json.Marshal(object{
		"@type": "config.global", "liteservers": list,
		"validator": object{"@type": "validator.config.global", "init_block": object{
			"workchain": block.Workchain, "shard": block.Shard, "seqno": block.SeqNo,
			"root_hash": block.RootHash, "file_hash": block.FileHash,
		}},
	})
	if err != nil {
		c.t.Fatal(err)
	}
	return config
}
