package redis

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// Config configures a Locker.
type Config struct {
	// Addr is the server's address, "host:port". Required.
	Addr string
	// Username and Password are credentials. Default: none.
	Username, Password string
	// Prefix is put in front of each key. Default: none.
	Prefix string
	// Timeout is how long a command may take before the server counts as unreachable. Default: 1 s.
	Timeout time.Duration
	// Options, if set, is the client's whole configuration, for TLS and the like. It replaces Addr,
	// Username, Password and Timeout.
	Options *goredis.Options
}

// Locker has locks in Redis. It is safe for concurrent use, and implements engine.Locker.
type Locker struct {
	client *goredis.Client
	prefix string
}

var _ engine.Locker = (*Locker)(nil)

// NewLocker returns a locker. It does not connect: the first lock does.
func NewLocker(c Config) (*Locker, error) {
	options := c.Options
	if options == nil {
		if c.Addr == "" {
			return nil, errors.New("redis: Config.Addr is empty: name the server as host:port")
		}
		timeout := cmp.Or(c.Timeout, time.Second)
		options = &goredis.Options{
			Addr: c.Addr, Username: c.Username, Password: c.Password,
			DialTimeout: timeout, ReadTimeout: timeout, WriteTimeout: timeout,
			MaxRetries: -1, // a repeated SET NX would find its own lock and wait for it
		}
	}
	return &Locker{client: goredis.NewClient(options), prefix: c.Prefix}, nil
}

// Close closes the connections. Locks that are held expire.
func (l *Locker) Close() error { return l.client.Close() }

// The scripts run in Redis as one command each. KEYS[1] is the lock, ARGV[1] its holder.
var (
	// takeScript takes a free lock for ARGV[2] milliseconds and returns its token, from the counter
	// KEYS[2]. It returns minus the milliseconds that are left to the holder, at least one.
	takeScript = goredis.NewScript(`
if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then
	return redis.call('INCR', KEYS[2])
end
return -math.max(redis.call('PTTL', KEYS[1]), 1)`)
	extendScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('PEXPIRE', KEYS[1], ARGV[2])
end
return 0`)
	releaseScript = goredis.NewScript(`
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0`)
)

// The pause between two looks at a lock that another holds: a released lock is seen after
// longestPause at the latest.
const longestPause = 50 * time.Millisecond

// Lock takes the lock of key: see engine.Locker. An error beside that of ctx means that Redis did
// not answer; the lock may have been taken all the same, and expires then.
func (l *Locker) Lock(ctx context.Context, key string, ttl time.Duration) (engine.Lock, error) {
	held := &lock{locker: l, key: l.prefix + key, holder: rand.Text()}
	for {
		answer, err := takeScript.Run(ctx, l.client, []string{held.key, held.key + ":token"}, held.holder, milliseconds(ttl)).Int64()
		switch {
		case ctx.Err() != nil:
			_ = held.Unlock(context.WithoutCancel(ctx)) // it may have been taken; if this fails, it expires
			return nil, ctx.Err()
		case err != nil:
			return nil, fmt.Errorf("redis: lock %s: %w", held.key, err)
		case answer > 0:
			held.token = answer
			return held, nil
		}
		left := time.Duration(-answer) * time.Millisecond
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(min(left, longestPause)):
		}
	}
}

// milliseconds is a ttl as Redis takes it: at least one.
func milliseconds(ttl time.Duration) int64 { return max(ttl.Milliseconds(), 1) }

// lock is a lock that was taken.
type lock struct {
	locker      *Locker
	key, holder string
	token       int64
}

// Token returns the number of holders of the key so far, this one included.
func (h *lock) Token() int64 { return h.token }

// Extend lets the lock last for ttl from now.
func (h *lock) Extend(ctx context.Context, ttl time.Duration) error {
	return h.compare("extend", extendScript.Run(ctx, h.locker.client, []string{h.key}, h.holder, milliseconds(ttl)))
}

// Unlock releases the lock.
func (h *lock) Unlock(ctx context.Context) error {
	return h.compare("unlock", releaseScript.Run(ctx, h.locker.client, []string{h.key}, h.holder))
}

// compare returns ErrLockLost if the script found another holder, or none.
func (h *lock) compare(what string, answer *goredis.Cmd) error {
	switch n, err := answer.Int64(); {
	case err != nil:
		return fmt.Errorf("redis: %s %s: %w", what, h.key, err)
	case n == 0:
		return fmt.Errorf("redis: %s %s: %w", what, h.key, engine.ErrLockLost)
	}
	return nil
}
