package redis_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/adapters/redis"
	"github.com/fsmgen/fsmgen/internal/parts"
	"github.com/fsmgen/fsmgen/internal/proxytest"
	"github.com/fsmgen/fsmgen/proptest/locktest"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

func locker(t *testing.T, c redis.Config) *redis.Locker {
	t.Helper()
	if c.Addr == "" {
		c.Addr = parts.Address(t, "FSMGEN_REDIS")
	}
	l, err := redis.NewLocker(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

// unique returns a key that no other run has: the server may outlive the test.
func unique(t *testing.T) string { return "lock:" + t.Name() + ":" + rand.Text() }

// TestLocker: locks in a real Redis pass the conformance suite.
func TestLocker(t *testing.T) {
	t.Parallel()
	parts.Address(t, "FSMGEN_REDIS")
	locktest.Run(t, func(t *testing.T) engine.Locker { return locker(t, redis.Config{Prefix: "fsmgen-test:"}) })
}

// TestPrefix: lockers with another prefix share no locks.
func TestPrefix(t *testing.T) {
	t.Parallel()
	key := unique(t)
	for _, prefix := range []string{"one:", "two:"} {
		if _, err := locker(t, redis.Config{Prefix: prefix}).Lock(t.Context(), key, time.Hour); err != nil {
			t.Fatal(err)
		}
	}
}

// TestUnreachable: a server that is not there, or that does not answer, is an error that is no
// lost lock, for each call.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	proxy := proxytest.New(t, "tcp", parts.Address(t, "FSMGEN_REDIS"))
	l := locker(t, redis.Config{Addr: proxy.Address()})
	held, err := l.Lock(t.Context(), unique(t), time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for name, trouble := range map[string]struct{ begin, end func() }{
		"refuses":   {proxy.Refuse, proxy.Restore},
		"is silent": {func() { proxy.Swallow(true) }, func() { proxy.Swallow(false) }},
	} {
		trouble.begin()
		_, lock := l.Lock(t.Context(), unique(t), time.Hour)
		for what, err := range map[string]error{"lock": lock, "extend": held.Extend(t.Context(), time.Hour)} {
			if err == nil || errors.Is(err, engine.ErrLockLost) || !strings.Contains(err.Error(), "redis: "+what) {
				t.Errorf("%s while the server %s: %v", what, name, err)
			}
		}
		trouble.end()
	}
	if err := held.Unlock(t.Context()); err != nil {
		t.Errorf("unlock after the trouble: %v", err)
	}
}

// TestALateAnswerLeavesNoLock: a caller that leaves while Redis answers does not keep the lock.
func TestALateAnswerLeavesNoLock(t *testing.T) {
	t.Parallel()
	proxy := proxytest.New(t, "tcp", parts.Address(t, "FSMGEN_REDIS"))
	l := locker(t, redis.Config{Addr: proxy.Address()})
	key := unique(t)
	before, err := l.Lock(t.Context(), key, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := before.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	arrived, release := proxy.HoldNext(proxytest.Answer)
	defer release()
	go func() { <-arrived; cancel() }()
	if _, err := l.Lock(ctx, key, time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	next, err := locker(t, redis.Config{}).Lock(t.Context(), key, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if next.Token() != before.Token()+2 {
		t.Errorf("the token is %d after %d: the call that left had not taken the lock", next.Token(), before.Token())
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	if _, err := redis.NewLocker(redis.Config{}); err == nil || !strings.Contains(err.Error(), "Config.Addr is empty") {
		t.Errorf("got %v", err)
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	l := locker(t, redis.Config{Addr: closed.Addr().String()})
	if _, err := l.Lock(t.Context(), "lock", time.Second); err == nil || !strings.Contains(err.Error(), "redis: lock lock") {
		t.Errorf("a server that is not there: %v", err)
	}
}
