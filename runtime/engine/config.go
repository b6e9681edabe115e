package engine

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	mathrand "math/rand/v2"
	"os"
	"slices"
	"time"

	"github.com/fsmgen/fsmgen/generated/outbox"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Config is what an engine can be told. The zero value of a field means its
// default.
type Config struct {
	// Clock tells the time: of decisions, due times and leases. Default: SystemClock,
	// which is corrected by the clock of the database where that has one
	// (PostgreSQL), so that processes whose machines disagree share one clock.
	Clock Clock
	// Logger gets the engine's own messages and the log effects of machines.
	// Default: slog.Default.
	Logger *slog.Logger
	// Metrics gets measurements, those of the machines and the engine's own;
	// it must be quick and safe for concurrent use. Default: none.
	Metrics func(Metric)
	// Trace is told of what the engine does, and of what came of it. Default:
	// none.
	Trace TraceFunc
	// Worker names this process to people who look into the database. Default:
	// host name and process id.
	Worker string

	// Lease is how long a claim lasts; a worker renews it while a handler
	// runs. Default: a minute.
	Lease time.Duration
	// PollInterval is how often an idle worker looks for work that nobody
	// announced: what became due, or what died with another worker. A worker whose
	// claims find nothing lets wake-ups of the store wait for up to a quarter of it,
	// and at most a second. Default: a second.
	PollInterval time.Duration
	// WatchInterval is how often Run, and Watch, measure what waits in the store.
	// Default: a minute.
	WatchInterval time.Duration
	// HandlerTimeout is how long a handler may take. Its context ends then; a
	// handler that goes on is left alone and its result is not taken. Default:
	// 30 seconds.
	HandlerTimeout time.Duration
	// StoreTimeout is how long a worker waits for an answer of the store before it
	// gives up the connection and tries again: a connection of which the other end
	// is gone may say nothing for ever. Calls of others have their own contexts.
	// Default: 30 seconds.
	StoreTimeout time.Duration
	// StopTimeout is how long Run lets handlers finish when it is stopped,
	// before their contexts end too. Default: 10 seconds.
	StopTimeout time.Duration
	// Batch is how much one claim takes at most, and how many events of a
	// FireBatch share a transaction. Default: 100.
	Batch int
	// Concurrency is how many effects a worker carries out at once, and how
	// many deadlines. As many again may have happened and wait to be stored.
	// Default: 16.
	Concurrency int

	// Limits bound what this process does at a destination, an effect's `to` or else
	// the effect's own name, in all machines. Default: see Limit.
	Limits map[string]Limit

	// TwoStep stores what a step raises as a deadline that is due at once,
	// instead of taking it in the same transaction.
	TwoStep bool
	// MaxPayload is how many bytes the payload of an event may have as JSON;
	// the database has to hold it several times. Default: 1 MiB.
	MaxPayload int
	// Retry is the policy of effects that name no failure class; those that
	// are at_most_once never repeat. Default: the failure class handler of the
	// machine outbox, 8 repeats within about 5 minutes.
	Retry fsm.RetryPolicy

	// Rand draws the jitter of a repeat, in [0, 1). Default: math/rand/v2.
	Rand func() float64
	// NewToken makes the token of a lease and the id of a history row; it must never
	// give one twice.
	// Default: random.
	NewToken func() fsm.UUID
}

// WithDefaults returns c with its zero fields filled.
func (c Config) WithDefaults() Config {
	if c.Clock == nil {
		c.Clock = SystemClock{}
	}
	if c.Logger == nil {
		c.Logger = slog.Default()
	}
	if c.Metrics == nil {
		c.Metrics = func(Metric) {}
	}
	if c.Trace == nil {
		c.Trace = untraced
	}
	if c.Worker == "" {
		host, _ := os.Hostname() // a name for people: without one the process id has to do
		c.Worker = fmt.Sprintf("%s/%d", host, os.Getpid())
	}
	if c.Retry == (fsm.RetryPolicy{}) {
		c.Retry = handlerRetry()
	}
	if c.Rand == nil {
		c.Rand = mathrand.Float64
	}
	if c.NewToken == nil {
		c.NewToken = randomToken
	}
	c.Lease = cmp.Or(c.Lease, outbox.DefaultParams().Lease)
	c.PollInterval = cmp.Or(c.PollInterval, time.Second)
	c.WatchInterval = cmp.Or(c.WatchInterval, time.Minute)
	c.HandlerTimeout = cmp.Or(c.HandlerTimeout, 30*time.Second)
	c.StoreTimeout = cmp.Or(c.StoreTimeout, 30*time.Second)
	c.StopTimeout = cmp.Or(c.StopTimeout, 10*time.Second)
	c.Batch = cmp.Or(c.Batch, 100)
	c.Concurrency = cmp.Or(c.Concurrency, 16)
	c.MaxPayload = cmp.Or(c.MaxPayload, 1<<20)
	return c
}

// validate explains everything that is wrong with c.
func (c Config) validate() error {
	var problems []error
	for _, field := range []struct {
		name  string
		value int64
	}{
		{"Lease", int64(c.Lease)}, {"PollInterval", int64(c.PollInterval)}, {"WatchInterval", int64(c.WatchInterval)}, {"HandlerTimeout", int64(c.HandlerTimeout)},
		{"StoreTimeout", int64(c.StoreTimeout)}, {"StopTimeout", int64(c.StopTimeout)}, {"Batch", int64(c.Batch)}, {"Concurrency", int64(c.Concurrency)}, {"MaxPayload", int64(c.MaxPayload)},
	} {
		if field.value < 0 {
			problems = append(problems, fmt.Errorf("%s must not be negative", field.name))
		}
	}
	if c.Retry.Attempts < 0 || c.Retry.First < 0 || c.Retry.Max < 0 || c.Retry.Factor < 0 || c.Retry.Jitter < 0 || c.Retry.Jitter > 1 {
		problems = append(problems, errors.New("the policy Retry must not be negative, and its Jitter at most 1"))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Limits)) {
		if l := c.Limits[name]; l.AtOnce < 0 || l.PerSecond < 0 {
			problems = append(problems, fmt.Errorf("the limits of destination %q must not be negative", name))
		}
	}
	return errors.Join(problems...)
}

// handlerRetry is the failure class that the machine outbox has for handlers.
func handlerRetry() fsm.RetryPolicy {
	for _, class := range outbox.Failures() {
		if class.Name == "handler" {
			return class.Retry
		}
	}
	return fsm.RetryPolicy{}
}

// randomToken returns a random UUID (version 4).
func randomToken() fsm.UUID {
	var u fsm.UUID
	_, _ = rand.Read(u[:]) // never fails: it ends the process instead
	return stamp(u, 4)
}
