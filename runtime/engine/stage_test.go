package engine_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/sqlite"
	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/download"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/generated/upload"
	"github.com/fsmgen/fsmgen/internal/fixture/generated/deal"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// clock is a clock that the test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) tick(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// stage is an engine over the real machines and a SQLite file, with handlers
// that do what a script says, and a text of what was seen.
type stage struct {
	t      *testing.T
	clock  *clock
	path   string
	store  *sqlite.Store
	engine *engine.Engine[*sql.Tx]
	config engine.Config
	tokens uint64

	mu      sync.Mutex
	seen    strings.Builder
	script  map[string][]string // effect to what its next calls do
	crashed chan struct{}       // a handler was told to crash, or to sleep
	awake   chan struct{}       // a sleeping handler may go on
	asleep  chan struct{}       // closed when the round of the sleeping handler ends
	over    context.Context     // ends with the test
	traced  []string            // see trace
}

func newStage(t *testing.T) *stage {
	over, end := context.WithCancel(context.Background())
	s := &stage{
		t: t, clock: &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}, path: filepath.Join(t.TempDir(), "engine.db"),
		script: map[string][]string{}, crashed: make(chan struct{}), awake: make(chan struct{}), over: over,
	}
	s.config = engine.Config{
		Clock: s.clock, Worker: "w", Lease: time.Minute, Rand: func() float64 { return 0.5 }, NewToken: s.token,
		Logger: slog.New(lines{s}), Metrics: s.count,
	}
	copyFile(t, emptyFile(t), s.path)
	s.open()
	t.Cleanup(end)
	return s
}

// open opens the file and makes an engine, as a process does that starts.
func (s *stage) open() {
	s.t.Helper()
	store, err := sqlite.Open(s.t.Context(), s.path, sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() {
		if err := store.Close(); err != nil {
			s.t.Error(err)
		}
	})
	s.store = store
	s.engine, err = engine.New[*sql.Tx](store, s.config, s.machines()...)
	if err != nil {
		s.t.Fatal(err)
	}
}

// emptyFile is a migrated file without a record; tests begin with a copy, since
// migrating takes longer than most of them.
var emptyFile = func() func(*testing.T) string {
	var once sync.Once
	var file string
	return func(t *testing.T) string {
		once.Do(func() { file = migrated(t) })
		return file
	}
}()

// migrated makes a file with the tables of every machine. TestMain removes it.
func migrated(t *testing.T) string {
	file := filepath.Join(folder, "empty.db")
	store, err := sqlite.Open(t.Context(), file, sqlite.Options{Synchronous: sqlite.Normal})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New[*sql.Tx](store, engine.Config{}, (&stage{}).machines()...)
	if err == nil {
		err = e.Migrate(t.Context())
	}
	if err := errors.Join(err, store.Close()); err != nil {
		t.Fatal(err)
	}
	return file
}

// folder holds what tests share.
var folder string

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "engine"); err != nil {
		panic(err)
	}
	code := m.Run()
	if err := os.RemoveAll(folder); err != nil {
		panic(err)
	}
	os.Exit(code)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (s *stage) machines() []engine.Machine[*sql.Tx] {
	var out []engine.Machine[*sql.Tx]
	for _, m := range []engine.Machine[*sql.Tx]{
		deal.Define[*sql.Tx](nil, deal.DefaultParams()), download.Define[*sql.Tx](nil, download.DefaultParams()),
		unpack.Define[*sql.Tx](nil, unpack.DefaultParams()), activate.Define[*sql.Tx](nil), upload.Define[*sql.Tx](nil),
		registration.Define[*sql.Tx](nil, registration.DefaultParams()),
	} {
		out = append(out, scripted{m, s})
	}
	return out
}

func (s *stage) token() fsm.UUID {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens++
	u, err := fsm.ParseUUID(fmt.Sprintf("00000000-0000-4000-8000-%012d", s.tokens))
	if err != nil {
		panic(err)
	}
	return u
}

// say adds a line to what was seen.
func (s *stage) say(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.seen, format+"\n", args...)
}

func (s *stage) flush() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.seen.Reset()
	return s.seen.String()
}

// count shows the counters that tell why nothing happened.
func (s *stage) count(m engine.Metric) {
	switch m.Name {
	case engine.MetricLateDeadlines, engine.MetricRefusedDeadlines, engine.MetricRefused, engine.MetricFatal, engine.MetricConflicts:
		s.say("counted %s %s", m.Name, m.Labels[0].Value)
	case engine.MetricAttempts:
		if m.Labels[1].Value == "late" {
			s.say("counted %s late %s", m.Name, m.Labels[0].Value)
		}
	}
}

// scripted is a real machine whose handlers do what the script says.
type scripted struct {
	engine.Machine[*sql.Tx]
	stage *stage
}

// Fire refuses what the script says it does: the checker refuses tables whose
// deadline can be refused.
func (m scripted) Fire(r fsm.Record, e fsm.Event, in fsm.Input) (fsm.Decision, error) {
	if m.stage.next(e.Name) == "refuse" {
		return fsm.Decision{}, &fsm.Rejection{Machine: m.Name(), State: r.StateName(), Event: e.Name, Reason: fsm.ErrGuardFailed}
	}
	return m.Machine.Fire(r, e, in)
}

func (m scripted) HandleTx(_ context.Context, _ *sql.Tx, d fsm.Dispatch) error {
	_, err := m.perform(context.Background(), "transaction", d)
	return err
}

func (m scripted) Handle(ctx context.Context, d fsm.Dispatch) (*fsm.Event, error) {
	return m.perform(ctx, "handle", d)
}

func (m scripted) Query(ctx context.Context, d fsm.Dispatch) (*fsm.Event, bool, error) {
	answer, err := m.perform(ctx, "query", d)
	if errors.Is(err, errAbsent) {
		return nil, false, nil
	}
	return answer, err == nil, err
}

var errAbsent = errors.New("it has not happened")

// perform takes the next line of the effect's script; without one the effect
// succeeds, and a query finds nothing.
func (m scripted) perform(ctx context.Context, how string, d fsm.Dispatch) (*fsm.Event, error) {
	what := m.stage.next(d.Effect)
	if what == "" && how == "query" {
		what = "absent"
	}
	m.stage.say("%s %s.%s of %s, attempt %d: %s", how, d.Machine, d.Effect, alias(d.Record), d.Attempt, what)
	verb, rest, _ := strings.Cut(what, " ")
	switch verb {
	case "", "ok":
		return nil, nil
	case "answer":
		e := parseEvent(rest)
		return &e, nil
	case "fail":
		return nil, errors.New(rest)
	case "permanent":
		return nil, &engine.PermanentError{Err: errors.New(rest)}
	case "panic":
		panic(rest)
	case "absent":
		return nil, errAbsent
	case "hang":
		<-m.stage.over.Done()
	case "crash":
		m.stage.crashed <- struct{}{}
		<-m.stage.over.Done()
	case "sleep":
		m.stage.crashed <- struct{}{}
		<-m.stage.awake
		e := parseEvent(rest)
		return &e, nil
	case "then":
		m.stage.run(rest)
		return m.perform(ctx, how, d)
	}
	return nil, fmt.Errorf("the script says %q", what)
}

func (s *stage) next(effect string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := s.script[effect]
	if len(lines) == 0 {
		return ""
	}
	s.script[effect] = lines[1:]
	return lines[0]
}

// lines shows warnings and errors.
type lines struct{ stage *stage }

func (l lines) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }
func (l lines) WithAttrs([]slog.Attr) slog.Handler               { return l }
func (l lines) WithGroup(string) slog.Handler                    { return l }
func (l lines) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	r.Attrs(func(a slog.Attr) bool {
		if slices.Contains([]string{"effect", "event", "task", "error"}, a.Key) {
			text, _, _ := strings.Cut(a.Value.String(), "\n") // without a stack
			fmt.Fprintf(&b, " %s=%q", a.Key, text)
		}
		return true
	})
	l.stage.say("%s %s:%s", r.Level, r.Message, b.String())
	return nil
}

// parseEvent reads: NAME {json}, the payload being {} if it is left out.
func parseEvent(text string) fsm.Event {
	name, json_, _ := strings.Cut(strings.TrimSpace(text), " ")
	if json_ == "" {
		json_ = "{}"
	}
	return fsm.Event{Name: name, Payload: json.RawMessage(json_)}
}

// alias shortens the ids that the commands lengthen.
func alias(id string) string {
	if short, ok := strings.CutPrefix(id, "00000000-0000-4000-9000-"); ok {
		return strings.TrimLeft(short, "0")
	}
	return id
}

func fullID(alias string) string {
	if len(alias) > 12 {
		return alias
	}
	return "00000000-0000-4000-9000-" + strings.Repeat("0", 12-len(alias)) + alias
}
