package ton_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
)

// TestViewOverOneServer: the errors of a liteserver differ, and a view is there again once the
// trouble has ended.
func TestViewOverOneServer(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	hasty := n.hasty(t)
	see := func(client *ton.Client) error { _, err := client.View(t.Context()); return err }
	if err := see(n.client); err != nil {
		t.Fatal(err)
	}
	s := n.servers[0]
	n.Advance(3)
	s.Break(tontest.Faults{Silent: true})
	wants(t, "silent", see(hasty), ton.ErrUnreachable)
	s.Break(tontest.Faults{ForeignValidator: true})
	wants(t, "a foreign validator", see(n.client), ton.ErrProof)
	s.Repair()
	if err := see(n.client); err != nil {
		t.Fatal(err)
	}
	s.Break(tontest.Faults{Behind: 2})
	wants(t, "behind", see(n.client), ton.ErrNotSynchronised)
	s.Repair()
	n.Sleep(10 * time.Minute) // no block for ten minutes
	wants(t, "no new blocks", see(n.client), ton.ErrNotSynchronised)
	n.Advance(1)
	s.Stop()
	wants(t, "stopped", see(hasty), ton.ErrUnreachable)
	s.Restart()
	atLast(t, func() error { return see(hasty) }) // connected again
}

// TestSeveralServers: while one liteserver works, the others may be stopped, silent, behind, or wrong.
func TestSeveralServers(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 3)
	to := deposit(t, 1)
	b := newBooks(to)
	w := watcher(t, n.hasty(t), b, nil)
	round := func() error { _, err := w.Round(t.Context()); return err }
	n.Advance(3)
	for i, faults := range []tontest.Faults{{}, {Silent: true}, {Behind: 2}, {ForeignValidator: true}} {
		for j, s := range n.servers {
			s.Repair()
			if j != i%len(n.servers) {
				s.Break(faults)
			}
		}
		n.give(to, coin)
		n.Settle()
		if atLast(t, round); b.sum(to) != uint64(i+1)*coin {
			t.Errorf("%+v: credited %d", faults, b.sum(to))
		}
	}
	n.servers[0].Repair()
	n.servers[1].Stop()
	n.servers[2].Stop()
	n.give(to, coin)
	n.Settle()
	atLast(t, round)
	if b.sum(to) != 5*coin {
		t.Errorf("credited %d", b.sum(to))
	}
}

// TestConfigFromURL: a configuration is fetched once.
func TestConfigFromURL(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(n.Config(n.servers...))
	}))
	defer web.Close()
	client, err := ton.Open(t.Context(), ton.Config{URL: web.URL, Now: n.Now})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if v, err := client.View(t.Context()); err != nil || v.Seqno != n.Seqno() || v.Time.After(n.Now()) {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestUnproved: without proofs a forged answer is believed, but no block that is older than one before.
func TestUnproved(t *testing.T) {
	t.Parallel()
	n := newNetwork(t, 1)
	w := wallet(t, n, 1)
	n.give(w.Address(), coin)
	n.Settle()
	n.servers[0].Break(tontest.Faults{ForgedAccount: true})
	rich := ton.Transfer{To: holder("owner"), Nano: 5 * coin}
	_, err := w.Sign(t.Context(), rich)
	wants(t, "with proofs", err, ton.ErrProof)
	config := n.config(n.ConfigFile(n.servers...))
	config.Unproved = true
	credulous, err := ton.Open(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	defer credulous.Close()
	n.client = credulous
	if _, err := wallet(t, n, 1).Sign(t.Context(), rich); err != nil {
		t.Errorf("without proofs: %v", err)
	}
	n.servers[0].Break(tontest.Faults{Behind: 1})
	_, err = credulous.View(t.Context())
	wants(t, "an older block than before", err, ton.ErrNotSynchronised)
}

// TestConfigurations: what is missing is named.
func TestConfigurations(t *testing.T) {
	t.Parallel()
	file := func(content string) ton.Config {
		path := filepath.Join(t.TempDir(), "network.json")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return ton.Config{File: path, Timeout: time.Millisecond}
	}
	for want, config := range map[string]ton.Config{
		"set one of Config.File and Config.URL": {},
		"read the network configuration":        {File: filepath.Join(t.TempDir(), "missing")},
		"names no liteserver":                   file(`{}`),
		"pins no block":                         file(`{"liteservers": [{"ip": 2130706433, "port": 1}]}`),
	} {
		if _, err := ton.Open(t.Context(), config); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	hash := strings.Repeat("A", 43) + "="
	unreachable := file(`{"liteservers": [{"ip": 2130706433, "port": 1, "id": {"key": "` + hash + `"}}],
		"validator": {"init_block": {"seqno": 1, "root_hash": "` + hash + `", "file_hash": "` + hash + `"}}}`)
	_, err := ton.Open(t.Context(), unreachable)
	wants(t, "an unreachable liteserver", err, ton.ErrUnreachable)
}
