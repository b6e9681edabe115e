package engine

import (
	"context"
	"sync"
	"time"
)

// ProcessLocker has locks for the workers of one process. The zero value is ready for use.
type ProcessLocker struct {
	mu    sync.Mutex
	last  int64 // the last token
	locks map[string]*processLock
}

// processLock is the present holder of a key.
type processLock struct {
	locker *ProcessLocker
	key    string
	token  int64
	until  time.Time
	ended  chan struct{} // closed when it is released
}

// Lock takes the lock of key: see [Locker]. Its only error is that of ctx.
func (l *ProcessLocker) Lock(ctx context.Context, key string, ttl time.Duration) (Lock, error) {
	for {
		taken, other := l.take(key, ttl)
		if taken != nil {
			return taken, nil
		}
		if err := other.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// take takes a free lock, or returns the one that is in its way.
func (l *ProcessLocker) take(key string, ttl time.Duration) (taken, other *processLock) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if held, ok := l.locks[key]; ok && time.Now().Before(held.until) {
		return nil, held
	}
	if l.locks == nil {
		l.locks = map[string]*processLock{}
	}
	l.last++
	taken = &processLock{locker: l, key: key, token: l.last, until: time.Now().Add(ttl), ended: make(chan struct{})}
	l.locks[key] = taken
	return taken, nil
}

// wait returns when the lock was released or may have expired.
func (p *processLock) wait(ctx context.Context) error {
	p.locker.mu.Lock()
	left := time.Until(p.until)
	p.locker.mu.Unlock()
	expiry := time.NewTimer(left)
	defer expiry.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-p.ended:
	case <-expiry.C:
	}
	return nil
}

// Token returns a number that counts the locks of the process.
func (p *processLock) Token() int64 { return p.token }

// Extend lets the lock last for ttl from now.
func (p *processLock) Extend(_ context.Context, ttl time.Duration) error {
	p.locker.mu.Lock()
	defer p.locker.mu.Unlock()
	if !p.held() {
		return ErrLockLost
	}
	p.until = time.Now().Add(ttl)
	return nil
}

// Unlock releases the lock.
func (p *processLock) Unlock(context.Context) error {
	p.locker.mu.Lock()
	defer p.locker.mu.Unlock()
	if !p.held() {
		return ErrLockLost
	}
	delete(p.locker.locks, p.key)
	close(p.ended)
	return nil
}

func (p *processLock) held() bool {
	return p.locker.locks[p.key] == p && time.Now().Before(p.until)
}
