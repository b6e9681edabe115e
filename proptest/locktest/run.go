package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
)

// ttl of locks that no test lets expire.
const ttl = time.Hour

// Run checks lockers that share their locks: each call of open returns another one, as another
// process would have.
func Run(t *testing.T, open func(t *testing.T) engine.Locker) {
	for _, c := range []struct {
		name string
		run  func(t *testing.T, a, b engine.Locker, key string)
	}{
		{"OneHolder", oneHolder},
		{"KeysAreIndependent", independentKeys},
		{"AWaitEndsWithItsContext", waitEnds},
		{"AnExpiredLockIsFree", expires},
		{"AnExtendedLockLasts", extended},
		{"AHolderThatIsLateReleasesNoOther", lateHolder},
		{"TokensGrow", tokensGrow},
		{"AReleasedLockIsLost", released},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(t, open(t), open(t), "lock:"+t.Name()+":"+rand.Text()) // the server may outlive the test
		})
	}
}

func mustLock(t *testing.T, l engine.Locker, key string, ttl time.Duration) engine.Lock {
	t.Helper()
	lock, err := l.Lock(t.Context(), key, ttl)
	if err != nil {
		t.Fatalf("lock %s: %v", key, err)
	}
	return lock
}

// oneHolder: of many that want a key one has it at a time.
func oneHolder(t *testing.T, a, b engine.Locker, key string) {
	const callers, rounds = 8, 5
	var mu sync.Mutex
	holders, most, taken := 0, 0, 0
	var all sync.WaitGroup
	for n := range callers {
		l := []engine.Locker{a, b}[n%2]
		all.Go(func() {
			for range rounds {
				lock, err := l.Lock(t.Context(), key, ttl)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				holders++
				taken++
				most = max(most, holders)
				mu.Unlock()
				mu.Lock()
				holders--
				mu.Unlock()
				if err := lock.Unlock(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if most != 1 || taken != callers*rounds {
		t.Errorf("%d held the lock at once; it was taken %d times", most, taken)
	}
}

func independentKeys(t *testing.T, a, b engine.Locker, key string) {
	for n := range 3 {
		mustLock(t, a, fmt.Sprintf("%s:a%d", key, n), ttl)
		mustLock(t, b, fmt.Sprintf("%s:b%d", key, n), ttl)
	}
}

func waitEnds(t *testing.T, a, b engine.Locker, key string) {
	mustLock(t, a, key, ttl)
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := b.Lock(ctx, key, ttl)
		failed <- err
	}()
	cancel()
	if err := <-failed; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the error of the context", err)
	}
}

// expires: a holder that died blocks a key for its ttl, and no longer.
func expires(t *testing.T, a, b engine.Locker, key string) {
	mustLock(t, a, key, time.Millisecond)
	mustLock(t, b, key, ttl)
}

// extended: a lock that its holder extends does not expire meanwhile.
func extended(t *testing.T, a, b engine.Locker, key string) {
	lock := mustLock(t, a, key, ttl/2)
	if err := lock.Extend(t.Context(), ttl); err != nil {
		t.Fatal(err)
	}
	if err := lock.Extend(t.Context(), time.Millisecond); err != nil { // an extension may shorten it
		t.Fatal(err)
	}
	mustLock(t, b, key, ttl)
	if err := lock.Extend(t.Context(), ttl); !errors.Is(err, engine.ErrLockLost) {
		t.Errorf("a lock that another has was extended: %v", err)
	}
}

// lateHolder: who comes back after the lock has expired neither extends nor releases that of the next.
func lateHolder(t *testing.T, a, b engine.Locker, key string) {
	late := mustLock(t, a, key, time.Millisecond)
	next := mustLock(t, b, key, ttl)
	if err := late.Unlock(t.Context()); !errors.Is(err, engine.ErrLockLost) {
		t.Errorf("unlock: got %v, want ErrLockLost", err)
	}
	if err := next.Extend(t.Context(), ttl); err != nil {
		t.Errorf("the lock of the next holder is gone: %v", err)
	}
	if err := next.Unlock(t.Context()); err != nil {
		t.Error(err)
	}
}

func tokensGrow(t *testing.T, a, b engine.Locker, key string) {
	last := int64(0)
	for n := range 6 {
		lock := mustLock(t, []engine.Locker{a, b}[n%2], key, ttl)
		if lock.Token() <= last {
			t.Errorf("token %d follows %d", lock.Token(), last)
		}
		last = lock.Token()
		if n%3 == 2 {
			if err := lock.Extend(t.Context(), time.Millisecond); err != nil { // this holder dies
				t.Fatal(err)
			}
			continue
		}
		if err := lock.Unlock(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func released(t *testing.T, a, _ engine.Locker, key string) {
	lock := mustLock(t, a, key, ttl)
	if err := lock.Unlock(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := lock.Unlock(t.Context()); !errors.Is(err, engine.ErrLockLost) {
		t.Errorf("a second unlock: got %v, want ErrLockLost", err)
	}
	if err := lock.Extend(t.Context(), ttl); !errors.Is(err, engine.ErrLockLost) {
		t.Errorf("extend after unlock: got %v, want ErrLockLost", err)
	}
}
