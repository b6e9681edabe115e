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

// Config configures an Engine. The zero value of a field means its default.
type Config struct {
	// Clock tells the time of decisions, due times and leases. Default: SystemClock, corrected by
	// the clock of the database if the store has one (PostgreSQL), so that processes on different
	// machines share one clock.
	Clock Clock
	// Logger receives the engine's own messages and the log effects of machines. Default:
	// slog.Default.
	Logger *slog.Logger
	// Metrics receives the measurements of the machines and of the engine. It must be quick and
	// safe for concurrent use. Default: none.
	Metrics func(Metric)
	// Trace is called when an operation begins, and its result when it ends. Default: none.
	Trace TraceFunc
	// Worker is the name of this process in the database, for operators. Default: host name and
	// process id.
	Worker string

	// Lease is how long a claim lasts. A worker renews it while a handler runs. Default: a minute.
	Lease time.Duration
	// PollInterval is how often an idle worker looks for work without a wake-up: work that became
	// due, or work of a dead worker. A worker whose claims find nothing delays wake-ups of the
	// store by up to a quarter of PollInterval, and by at most a second. Default: a second.
	PollInterval time.Duration
	// WatchInterval is how often Run and Watch measure what waits in the store. Default: a minute.
	WatchInterval time.Duration
	// HandlerTimeout is how long a handler may run. Its context ends then, and the engine drops
	// the result of a handler that goes on. Default: 30 seconds.
	HandlerTimeout time.Duration
	// StoreTimeout is how long a worker waits for an answer of the store before it closes the
	// connection and tries again: a dead connection may stay silent for ever. Callers have their
	// own contexts. Default: 30 seconds.
	StoreTimeout time.Duration
	// StopTimeout is how long Run waits for handlers when it is stopped, before it ends their
	// contexts. Default: 10 seconds.
	StopTimeout time.Duration
	// Batch is the largest number of tasks of one claim, and of events of a FireBatch in one
	// transaction. Default: 100.
	Batch int
	// Concurrency is how many effects a worker carries out at the same time, and how many
	// deadlines. Up to as many more may wait for their outcome to be stored. Default: 16.
	Concurrency int

	// Limits bounds the attempts of this process at a destination: an effect's `to`, or else the
	// effect's name, in all machines. Default: see Limit.
	Limits map[string]Limit

	// Locker takes the locks that specs declare with `lock`. Default: a ProcessLocker of the engine,
	// which only its own workers share.
	Locker Locker
	// WithoutLock says what a worker does with an effect while Locker fails. Default: Proceed,
	// since no step relies on a lock.
	WithoutLock WithoutLock

	// TwoStep stores a raised event as a deadline that is due at once, instead of applying it in
	// the same transaction.
	TwoStep bool
	// MaxPayload is the largest payload of an event, in bytes of JSON. The database stores it
	// several times. Default: 1 MiB.
	MaxPayload int
	// Retry is the policy of effects that name no failure class. An at_most_once effect is never
	// repeated. Default: the failure class handler of the machine outbox, 8 repeats within about 5
	// minutes.
	Retry fsm.RetryPolicy

	// Rand returns the jitter of a repeat, in [0, 1). Default: math/rand/v2.
	Rand func() float64
	// NewToken returns the token of a lease or the id of a history row. It must never return the
	// same one twice. Default: random.
	NewToken func() fsm.UUID
}

// WithDefaults returns c with defaults in its zero fields.
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
		host, _ := os.Hostname() // a name for operators: without one the process id has to do
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
	if c.Locker == nil {
		c.Locker = &ProcessLocker{}
	}
	c.WithoutLock = cmp.Or(c.WithoutLock, Proceed)
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
