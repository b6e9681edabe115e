package httpapi_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/ton"
	"github.com/fsmgen/fsmgen/generated/deal"
	"github.com/fsmgen/fsmgen/generated/transfer"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
	"github.com/fsmgen/fsmgen/services/deal/access"
	"github.com/fsmgen/fsmgen/services/deal/books"
	"github.com/fsmgen/fsmgen/services/deal/httpapi"
	"github.com/fsmgen/fsmgen/services/deal/internal/dbtest"
	"github.com/fsmgen/fsmgen/services/deal/ledger"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

// The callers of the tests.
var (
	advertiser = access.Caller{ID: 7}
	owner      = access.Caller{ID: 8}
	admin      = access.Caller{ID: 9, AdminOf: []int64{8}}
	operator   = access.Caller{ID: 1, Operator: true}
	stranger   = access.Caller{ID: 10, AdminOf: []int64{7}}
)

// shop is the API over a database of its own.
type shop struct {
	*testing.T
	handler http.Handler
	tokens  *access.Tokens
	deals   *deal.Client[*sql.Tx]
	book    func(ledger.Entry)
	log     *strings.Builder
}

type still struct{}

func (still) Now() time.Time { return now }

// mainnet reads addresses as the service does.
type mainnet struct{}

func (mainnet) Raw(text string) (string, error) {
	a, err := ton.Mainnet.Parse(text)
	return a.String(), err
}

func (mainnet) Shown(raw string) (string, error) {
	var a ton.Address
	err := a.UnmarshalText([]byte(raw))
	return ton.Mainnet.Show(a), err
}

func newShop(t *testing.T) shop {
	t.Helper()
	db := dbtest.SQLite(t)
	e, err := engine.New(db.Store, engine.Config{Clock: still{}}, deal.Define[*sql.Tx](nil, deal.DefaultParams()), transfer.Define[*sql.Tx](nil, transfer.DefaultParams()))
	own := books.SQLite(db)
	if err == nil {
		err = errors.Join(e.Migrate(t.Context()), own.Migrate(t.Context()))
	}
	file := filepath.Join(t.TempDir(), "keys")
	err = errors.Join(err, os.WriteFile(file, []byte(strings.Repeat("key!", 8)), 0o600))
	tokens, problem := access.New(access.Config{KeyFile: file, Audience: "deald", Now: still{}.Now})
	if err = errors.Join(err, problem); err != nil {
		t.Fatal(err)
	}
	next := byte(0)
	log := &strings.Builder{}
	s := shop{T: t, tokens: tokens, deals: deal.In(e), log: log}
	s.handler = httpapi.New(httpapi.Config{
		Deals: s.deals, Books: own, Callers: tokens, Addresses: mainnet{}, Params: deal.DefaultParams(), Log: slog.New(slog.NewTextHandler(log, nil)),
		NewID: func() fsm.UUID { next++; return fsm.UUID{0: 0xd, 15: next} },
	})
	s.book = func(entry ledger.Entry) {
		t.Helper()
		err := db.InTx(t.Context(), func(tx *sql.Tx) error { return ledger.SQLite().Post(t.Context(), tx, entry, now) })
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// asked is a request and its answer.
type asked struct {
	status int
	header http.Header
	body   string
}

// ask sends a request. Headers are pairs of name and value.
func (s shop) ask(who access.Caller, method, path, body string, headers ...string) asked {
	s.Helper()
	token, err := s.tokens.Sign(who, now.Add(time.Hour))
	if err != nil {
		s.Fatal(err)
	}
	return s.send(method, path, strings.NewReader(body), append([]string{"Authorization", "Bearer " + token}, headers...)...)
}

func (s shop) send(method, path string, body io.Reader, headers ...string) asked {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, path, body)
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Add(pair[0], pair[1])
	}
	w := httptest.NewRecorder()
	s.handler.ServeHTTP(w, r)
	return asked{w.Code, w.Result().Header, w.Body.String()}
}

// wants fails unless the answer has a status, and a text in its body.
func (s shop) wants(a asked, status int, text string) asked {
	s.Helper()
	if a.status != status || !strings.Contains(a.body, text) {
		s.Fatalf("got %d %s, want %d with %q", a.status, a.body, status, text)
	}
	return a
}

// read decodes an answer.
func read[V any](s shop, a asked) (v V) {
	s.Helper()
	if err := json.Unmarshal([]byte(a.body), &v); err != nil {
		s.Fatalf("%s: %v", a.body, err)
	}
	return v
}

const price = `{"owner_id": 8, "price_nano": 5000000000}`

// offered makes a deal that is offered, and returns its path.
func (s shop) offered() string {
	s.Helper()
	a := s.wants(s.ask(advertiser, "POST", "/v1/deals", price), http.StatusCreated, "DRAFT")
	path := "/v1/deals/" + read[httpapi.Done](s, a).Deal.DealID.String()
	if a.header.Get("Location") != path {
		s.Fatalf("the deal is at %q, want %q", a.header.Get("Location"), path)
	}
	s.wants(s.ask(advertiser, "POST", path+"/submit-offer", ""), http.StatusOK, "OFFER_PENDING")
	return path
}

// TestEvents: each party does what the table lets it do, and nothing else.
func TestEvents(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	s.wants(s.ask(advertiser, "POST", path+"/accept", ""), http.StatusForbidden, `"reason": "not_allowed"`)
	s.wants(s.ask(owner, "POST", path+"/counter-offer", `{"price_nano": 6000000000}`), http.StatusOK, "NEGOTIATING")
	s.wants(s.ask(operator, "POST", path+"/agree", ""), http.StatusForbidden, `"reason": "not_allowed"`)
	s.wants(s.ask(admin, "POST", path+"/agree", ""), http.StatusForbidden, `"reason": "not_allowed"`)
	s.wants(s.ask(owner, "POST", path+"/approve", `{"draft": 1}`), http.StatusConflict, `"reason": "invalid_transition"`)
	a := s.wants(s.ask(advertiser, "POST", path+"/agree", ""), http.StatusOK, "ACCEPTED")
	if a.header.Get("ETag") != `"4"` || a.header.Get("Content-Type") != "application/json" {
		t.Errorf("the headers are %v", a.header)
	}
	steps := read[struct{ Steps []httpapi.Step }](s, s.wants(s.ask(admin, "GET", path+"/history?after=2", ""), http.StatusOK, "")).Steps
	want := []httpapi.Step{
		{Version: 3, At: now, Transition: "counter_offer", From: "OFFER_PENDING", To: "NEGOTIATING", Event: "COUNTER_OFFER", By: "owner", ID: "8"},
		{Version: 4, At: now, Transition: "agree", From: "NEGOTIATING", To: "ACCEPTED", Event: "AGREE", By: "advertiser", ID: "7"},
	}
	if !slices.Equal(steps, want) {
		t.Errorf("the history is %+v, want %+v", steps, want)
	}
}

// TestTheSystemHasNoDoor: no caller fires what the chain, the scheduler or a deadline says.
func TestTheSystemHasNoDoor(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	for _, event := range []string{"expire", "deposit-confirmed", "auto-approve", "address-ready", "verification-passed", "start-verification", "create", "nothing", "submit_offer/"} {
		s.wants(s.ask(operator, "POST", path+"/"+event, `{"tx_hash": "a", "amount_nano": 5000000000}`), http.StatusNotFound, "")
	}
	s.wants(s.ask(advertiser, "GET", path, ""), http.StatusOK, "OFFER_PENDING")
}

// TestShow: a deal says its books, what it waits for, and what the caller may do, with reasons.
func TestShow(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	v := read[httpapi.View](s, s.wants(s.ask(owner, "GET", path, ""), http.StatusOK, ""))
	if v.As != deal.RoleOwner || v.Version != 2 || !v.Since.Equal(now) || v.Deal.State != deal.OfferPending {
		t.Errorf("got %+v", v)
	}
	if due := (httpapi.Awaited{Event: "EXPIRE", At: now.Add(deal.DefaultParams().OfferTimeout)}); v.Awaits == nil || *v.Awaits != due {
		t.Errorf("it awaits %+v, want %+v", v.Awaits, due)
	}
	legal := map[string]string{} // why not
	for _, m := range v.May {
		legal[m.Event] = ""
		if m.Why != nil {
			legal[m.Event] = string(m.Why.Reason)
		}
	}
	for event, want := range map[string]string{"ACCEPT": "", "COUNTER_OFFER": "", "WITHDRAW": "not_allowed", "APPROVE": "invalid_transition"} {
		if got, there := legal[event]; !there || got != want {
			t.Errorf("%s: %q, want %q", event, got, want)
		}
	}
	if _, there := legal["DEPOSIT_CONFIRMED"]; there {
		t.Error("an event of the system is offered")
	}
	s.book(ledger.Funded(v.Deal.DealID, "tx", 5, 7))
	v = read[httpapi.View](s, s.ask(operator, "GET", path, ""))
	if v.As != deal.RoleOperator || v.Ledger[ledger.Escrow(v.Deal.DealID)] != 5 || v.Ledger[ledger.Suspense] != 2 {
		t.Errorf("got %+v", v)
	}
}

// TestStrangers: who has no part in a deal does not learn that it is there.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	missing := s.ask(stranger, "GET", "/v1/deals/0d000000-0000-0000-0000-0000000000ff", "")
	for _, a := range []asked{
		s.ask(stranger, "GET", path, ""), s.ask(stranger, "GET", path+"/history", ""), s.ask(stranger, "POST", path+"/accept", ""),
		s.ask(stranger, "GET", "/v1/deals/none", ""),
	} {
		if a.status != http.StatusNotFound || a.body != missing.body {
			t.Errorf("got %d %s, want %s", a.status, a.body, missing.body)
		}
	}
	s.wants(s.ask(stranger, "GET", "/v1/deals", ""), http.StatusOK, `"deals": []`)
	s.wants(s.ask(stranger, "GET", "/v1/deals?party=8", ""), http.StatusForbidden, "forbidden")
}

// TestTokens: without one that is accepted there is no answer but that.
func TestTokens(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	expired, err := s.tokens.Sign(advertiser, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, headers := range [][]string{nil, {"Authorization", "Bearer nonsense"}, {"Authorization", "Basic Nzo3"}, {"Authorization", "Bearer " + expired}} {
		a := s.wants(s.send("GET", path, nil, headers...), http.StatusUnauthorized, `"code": "unauthorized"`)
		if a.header.Get("WWW-Authenticate") != "Bearer" || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("the headers are %v", a.header)
		}
	}
	// The body does not say who is calling.
	s.wants(s.ask(advertiser, "POST", "/v1/deals", `{"owner_id": 8, "price_nano": 5, "advertiser_id": 1}`), http.StatusUnprocessableEntity, "advertiser_id")
}

// TestRepeats: a key makes one deal, and an event happens once.
func TestRepeats(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	first := read[httpapi.Done](s, s.wants(s.ask(advertiser, "POST", "/v1/deals", price, "Idempotency-Key", "a"), http.StatusCreated, ""))
	again := read[httpapi.Done](s, s.wants(s.ask(advertiser, "POST", "/v1/deals", price, "Idempotency-Key", "a"), http.StatusCreated, ""))
	if !again.Repeated || again.Deal.DealID != first.Deal.DealID {
		t.Errorf("got %+v, want %+v", again, first)
	}
	s.wants(s.ask(advertiser, "POST", "/v1/deals", `{"owner_id": 9, "price_nano": 5}`, "Idempotency-Key", "a"), http.StatusUnprocessableEntity, "key_used")
	path := "/v1/deals/" + first.Deal.DealID.String()
	for range 2 {
		s.wants(s.ask(advertiser, "POST", path+"/submit-offer", "", "Idempotency-Key", "b"), http.StatusOK, `"version": 2`)
	}
	s.wants(s.ask(advertiser, "POST", path+"/submit-offer", ""), http.StatusOK, `"already_there": true`)
}

// TestIfMatch: an event at another version changes nothing.
func TestIfMatch(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	s.wants(s.ask(owner, "POST", path+"/accept", "", "If-Match", `"1"`), http.StatusPreconditionFailed, `"code": "changed"`)
	for _, tag := range []string{"2", `W/"2"`, `"two"`, `"-2"`, `"+2"`, "*"} {
		s.wants(s.ask(owner, "POST", path+"/accept", "", "If-Match", tag), http.StatusBadRequest, "If-Match")
	}
	s.wants(s.ask(advertiser, "POST", "/v1/deals", price, "If-Match", `"1"`), http.StatusBadRequest, "If-Match")
	s.wants(s.ask(owner, "POST", path+"/accept", "", "If-Match", `"2"`), http.StatusOK, "ACCEPTED")
}

// TestBadRequests: each says what is wrong, and changes nothing.
func TestBadRequests(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	for _, c := range []struct {
		name, method, path, body string
		headers                  []string
		status                   int
		text                     string
	}{
		{"an amount of zero", "POST", "/v1/deals", `{"owner_id": 8, "price_nano": 0}`, nil, 422, "price_nano"},
		{"above the supply of int64", "POST", "/v1/deals", `{"owner_id": 8, "price_nano": 9223372036854775808}`, nil, 422, "price_nano"},
		{"a deal with oneself", "POST", "/v1/deals", `{"owner_id": 7, "price_nano": 5}`, nil, 422, "one_party"},
		{"no JSON", "POST", "/v1/deals", `owner_id=8`, nil, 422, "rejected"},
		{"two values", "POST", "/v1/deals", price + price, nil, 422, "rejected"},
		{"a field twice", "POST", "/v1/deals", `{"owner_id": 8, "price_nano": 5, "price_nano": 6}`, nil, 422, "twice"},
		{"a megabyte", "POST", path + "/withdraw", strings.Repeat(" ", 1<<20), nil, 413, "too_large"},
		{"two keys", "POST", path + "/withdraw", "", []string{"Idempotency-Key", "a", "Idempotency-Key", "b"}, 400, "Idempotency-Key"},
		{"a long key", "POST", path + "/withdraw", "", []string{"Idempotency-Key", strings.Repeat("k", 256)}, 400, "Idempotency-Key"},
		{"a key with a bell", "POST", path + "/withdraw", "", []string{"Idempotency-Key", "a\a"}, 400, "Idempotency-Key"},
		{"no such state", "GET", "/v1/deals?state=PAID", "", nil, 400, "PAID"},
		{"no such page", "GET", "/v1/deals?after=7", "", nil, 400, "after"},
		{"too long a page", "GET", "/v1/deals?limit=1000", "", nil, 400, "limit"},
		{"no such party", "GET", "/v1/deals?party=me", "", nil, 400, "party"},
		{"no such version", "GET", path + "/history?after=-1", "", nil, 400, "after"},
	} {
		a := s.ask(advertiser, c.method, c.path, c.body, c.headers...)
		p := read[httpapi.Problem](s, a)
		if a.status != c.status || p.Status != c.status || !strings.Contains(a.body, c.text) || a.header.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: got %d %s, want %d with %q", c.name, a.status, a.body, c.status, c.text)
		}
	}
	s.wants(s.ask(advertiser, "GET", path, ""), http.StatusOK, `"version": 2`)
	if page := read[httpapi.Page](s, s.ask(advertiser, "GET", "/v1/deals", "")); len(page.Deals) != 1 {
		t.Errorf("there are %d deals, want 1", len(page.Deals))
	}
}

// TestList: page by page, by state and by party.
func TestList(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	for range 3 {
		s.offered()
	}
	s.wants(s.ask(access.Caller{ID: 8}, "POST", "/v1/deals", `{"owner_id": 20, "price_nano": 5}`), http.StatusCreated, "")
	for _, c := range []struct {
		who   access.Caller
		query string
		want  int
		more  bool
	}{
		{who: advertiser, want: 3}, {who: owner, want: 4}, {who: operator, want: 4}, {who: admin},
		{who: admin, query: "?party=8", want: 4}, {who: operator, query: "?party=20", want: 1},
		{who: owner, query: "?state=DRAFT", want: 1}, {who: owner, query: "?limit=3", want: 3, more: true},
	} {
		page := read[httpapi.Page](s, s.wants(s.ask(c.who, "GET", "/v1/deals"+c.query, ""), http.StatusOK, ""))
		if len(page.Deals) != c.want || (page.After != "") != c.more {
			t.Errorf("%+v%s: got %d deals, after %q", c.who, c.query, len(page.Deals), page.After)
		}
		if c.more {
			next := read[httpapi.Page](s, s.ask(c.who, "GET", "/v1/deals"+c.query+"&after="+page.After, ""))
			if len(next.Deals) != 1 || next.After != "" {
				t.Errorf("the next page has %d deals, after %q", len(next.Deals), next.After)
			}
		}
	}
}

// TestAddresses: an address is recorded in its raw form, and one that is none, or of the test network,
// is not recorded.
func TestAddresses(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	path := s.offered()
	id, err := fsm.ParseUUID(strings.TrimPrefix(path, "/v1/deals/"))
	if err != nil {
		t.Fatal(err)
	}
	s.wants(s.ask(owner, "POST", path+"/accept", ""), http.StatusOK, "ACCEPTED")
	at := ton.Address{Hash: [32]byte{1, 2, 3}}
	if _, err := s.deals.AddressReady(t.Context(), id, deal.AddressReady{DepositAddress: at.String()}, deal.BySystem()); err != nil {
		t.Fatal(err)
	}
	if v := read[httpapi.View](s, s.ask(advertiser, "GET", path, "")); v.PayTo != ton.Mainnet.Show(at) || v.PayTo[0] != 'U' {
		t.Errorf("it is paid to %q, want %q", v.PayTo, ton.Mainnet.Show(at))
	}
	good := ton.Mainnet.Show(at)
	for text, why := range map[string]string{
		ton.Testnet.Show(at): "test network", "A" + good[1:]: "", good[:47] + "_": "checksum", "": "", at.String(): "48 characters",
	} {
		s.wants(s.ask(advertiser, "POST", path+"/set-refund-address", `{"refund_address": "`+text+`"}`), http.StatusBadRequest, why)
	}
	s.wants(s.ask(owner, "POST", path+"/set-refund-address", `{"refund_address": "`+good+`"}`), http.StatusForbidden, "not_allowed")
	s.wants(s.ask(advertiser, "POST", path+"/set-refund-address", `{"refund_address": "`+good+`"}`), http.StatusOK, at.String())
}
