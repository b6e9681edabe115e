package engine

import (
	"context"
	"errors"
	"time"
)

// Locker takes the locks that a spec declares with `lock`. Such a lock spares work: while one
// process carries out an effect, others that have the same key wait. No step relies on it. Leases
// and compare-and-swap keep steps safe if a lock is lost, expires or is not there.
//
// adapters/redis has locks that several processes share. A Locker is safe for concurrent use;
// proptest/locktest is its conformance suite.
type Locker interface {
	// Lock takes the lock of key for ttl. While another has it, Lock waits until it is released or
	// expires. It returns the error of ctx when ctx ends first. Any other error means that the
	// locks can't be reached: nothing was taken, as far as that is known.
	Lock(ctx context.Context, key string, ttl time.Duration) (Lock, error)
}

// Lock is a lock that was taken. Its methods are called by one goroutine at a time.
type Lock interface {
	// Token is larger than that of every earlier holder of the key: a fencing token, for logs.
	Token() int64
	// Extend lets the lock last for ttl from now. ErrLockLost means that it has expired, and that
	// another may have it.
	Extend(ctx context.Context, ttl time.Duration) error
	// Unlock releases the lock. A lock of another holder stays: ErrLockLost then.
	Unlock(ctx context.Context) error
}

// ErrLockLost is returned by Extend and Unlock of a lock that its holder no longer has.
var ErrLockLost = errors.New("the lock has expired")
