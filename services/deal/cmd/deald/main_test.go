package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/xssnick/tonutils-go/address"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/adapters/ton/tontest"
	"github.com/fsmgen/fsmgen/internal/pgtest"
	"github.com/fsmgen/fsmgen/internal/progress"
	"github.com/fsmgen/fsmgen/services/deal"
	"github.com/fsmgen/fsmgen/services/deal/httpapi"
)

// town is a chain, and a folder with the files that a daemon needs.
type town struct {
	*testing.T
	chain                  *tontest.Chain
	network, wallet, token string
	dir                    string
}

func newTown(t *testing.T) town {
	t.Helper()
	dir := t.TempDir()
	w := town{T: t, chain: tontest.New(t), dir: dir, wallet: filepath.Join(dir, "wallet.key"), token: filepath.Join(dir, "tokens.key")}
	w.network = w.chain.ConfigFile(w.chain.Serve())
	w.must(os.WriteFile(w.wallet, []byte(strings.Repeat("0a", 32)), 0o600))
	w.must(os.WriteFile(w.token, []byte(strings.Repeat("key!", 8)), 0o600))
	return w
}

func (w town) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

// says runs a command to its end and returns what it prints.
func (w town) says(want int, args ...string) (out, problems string) {
	w.Helper()
	var o, p bytes.Buffer
	if got := run(w.Context(), world{out: &o, problems: &p, now: w.chain.Now}, args); got != want {
		w.Fatalf("deald %q: exit code %d, want %d: %s", args, got, want, p.String())
	}
	return o.String(), p.String()
}

// process is deald serve in this process.
type process struct {
	town
	url   string
	stop  context.CancelFunc
	ended chan int
}

// serve starts a daemon and waits until it is ready.
func (w town) serve(args ...string) *process {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	d := &process{town: w, stop: stop, ended: make(chan int, 1)}
	log, end := io.Pipe()
	go func() {
		all := append([]string{"serve", "--listen", "127.0.0.1:0", "--dir", w.dir, "--ton", w.network, "--wallet-key", w.wallet, "--tokens", w.token}, args...)
		d.ended <- run(ctx, world{out: io.Discard, problems: end, now: w.chain.Now}, all)
		_ = end.Close() // no reader is left that could mind
	}()
	lines := bufio.NewScanner(log)
	for d.url == "" {
		if !lines.Scan() {
			w.Fatalf("the daemon ended: %d", <-d.ended)
		}
		var line struct{ Msg, Listen string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "ready" {
			d.url = "http://" + line.Listen
		}
	}
	go func() { _, _ = io.Copy(io.Discard, log) }()
	w.Cleanup(stop)
	return d
}

// ask sends a request of a user and decodes the answer.
func ask[V any](d *process, user, method, path, body string) (v V) {
	d.Helper()
	token, _ := d.says(0, "token", "--keys", d.token, "--user", user)
	r, err := http.NewRequestWithContext(d.Context(), method, d.url+path, strings.NewReader(body))
	d.must(err)
	r.Header.Set("Authorization", "Bearer "+strings.TrimSpace(token))
	answer, err := http.DefaultClient.Do(r)
	d.must(err)
	text, err := io.ReadAll(answer.Body)
	d.must(errors.Join(err, answer.Body.Close()))
	if answer.StatusCode >= http.StatusBadRequest {
		d.Fatalf("%s %s: %s: %s", method, path, answer.Status, text)
	}
	d.must(json.Unmarshal(text, &v))
	return v
}

// until waits until a deal is in a state.
func (d *process) until(path, state string) (v httpapi.View) {
	d.Helper()
	d.must(progress.Await(d.Context(), "the deal to be "+state, func() (any, bool, error) {
		v = ask[httpapi.View](d, "7", "GET", path, "")
		d.chain.Advance(1)
		return v.Version, v.Deal.State.String() == state, nil
	}))
	return v
}

// TestADeal takes a deal through the daemon, from its offer until it is paid, and stops the daemon, which
// another one follows.
func TestADeal(t *testing.T) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		aDeal(newTown(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn := pgtest.DSN(t)
		aDeal(newTown(t), "--store", dsn, "--schema", pgtest.Schema(t, dsn))
	})
}

func aDeal(w town, args ...string) {
	d := w.serve(args...)
	made := ask[httpapi.Done](d, "7", "POST", "/v1/deals", `{"owner_id": 8, "price_nano": 5000000000}`)
	path := "/v1/deals/" + made.Deal.DealID.String()
	ask[httpapi.Done](d, "7", "POST", path+"/submit-offer", "")
	ask[httpapi.Done](d, "8", "POST", path+"/accept", "")
	waiting := d.until(path, "AWAITING_PAYMENT")
	d.stop()
	if code := <-d.ended; code != 0 {
		w.Fatalf("the daemon ended with %d", code)
	}
	var at ton.Address
	w.must(at.UnmarshalText([]byte(waiting.Deal.DepositAddress.V)))
	w.chain.Give(address.NewAddress(0, 0, at.Hash[:]), 5_000_000_000) // while no daemon runs
	w.chain.Settle()
	d = w.serve(args...)
	funded := d.until(path, "FUNDED")
	if nano := funded.Deal.PayoutNano.V + funded.Deal.CommissionNano.V + funded.Deal.FeesNano.V; nano != 5_000_000_000 {
		w.Errorf("the shares are %d nano: %+v", nano, funded.Deal)
	}
	d.reconciled(args...)
	d.stop()
	if code := <-d.ended; code != 0 {
		w.Fatalf("the daemon ended with %d", code)
	}
}

// reconciled waits until nothing is under way, and compares chain and books.
func (d *process) reconciled(args ...string) {
	d.Helper()
	all := append([]string{"reconcile", "--json", "--dir", d.dir, "--ton", d.network, "--wallet-key", d.wallet}, args...)
	var last deal.Reconciliation
	d.must(progress.Await(d.Context(), "all money to be booked", func() (any, bool, error) {
		var out, problems bytes.Buffer
		code := run(d.Context(), world{out: &out, problems: &problems, now: d.chain.Now}, all)
		last = deal.Reconciliation{}
		if err := json.Unmarshal(out.Bytes(), &last); err != nil {
			return nil, false, fmt.Errorf("exit code %d: %s: %w", code, problems.String(), err)
		}
		d.chain.Advance(1)
		return fmt.Sprint(last.Escrow, last.Books, len(last.Behind), len(last.UnderWay)), code == 0 && last.Escrow > 0 && len(last.Behind)+len(last.UnderWay) == 0, nil
	}))
	if last.Books != last.Escrow+last.Deposits {
		d.Errorf("reconciled to %+v", last)
	}
}

// TestCommandLines: what can't be obeyed says why, and nothing begins.
func TestCommandLines(t *testing.T) {
	t.Parallel()
	w := newTown(t)
	files := []string{"--ton", w.network, "--wallet-key", w.wallet, "--tokens", w.token, "--dir", w.dir}
	broken := filepath.Join(w.dir, "broken")
	w.must(os.WriteFile(broken, []byte("secret"), 0o600))
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"serve"}, exitUsage, "--ton, --wallet-key and --tokens are needed"},
		{append([]string{"serve", "--store", "mysql://"}, files...), exitUsage, "--store is sqlite or postgres://"},
		{append([]string{"serve", "--kafka", "127.0.0.1:1"}, append(files, "--kafka-topic", "")...), exitUsage, "kafka"},
		{append([]string{"serve"}, append(files, "--wallet-key", broken)...), exitFailed, "64 hexadecimal digits"},
		{append([]string{"serve"}, append(files, "--tokens", broken)...), exitFailed, "fewer than 32 characters"},
		{append([]string{"serve"}, append(files, "--ton", broken)...), exitFailed, broken},
		{[]string{"serve", "now"}, exitUsage, `unexpected argument "now"`},
		{[]string{"reconcile"}, exitUsage, "--ton and --wallet-key are needed"},
		{[]string{"reconcile", "--ton", w.network, "--wallet-key", w.wallet, "--dir", filepath.Join(w.dir, "elsewhere")}, exitUsage, "there are no deals"},
		{[]string{"token"}, exitUsage, "--keys"},
		{[]string{"token", "--keys", broken, "--user", "7"}, exitFailed, "openssl rand -hex 32"},
		{[]string{"token", "--dance"}, exitUsage, "deald token --help"},
	} {
		if _, problems := w.says(c.code, c.args...); !strings.Contains(problems, c.want) {
			t.Errorf("deald %q says %q, want %q", c.args, problems, c.want)
		}
	}
	if help, _ := w.says(0, "serve", "--help"); !strings.Contains(help, "--silence-pays") {
		t.Errorf("the help is %s", help)
	}
}
