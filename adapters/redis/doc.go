// Package redis has locks that several processes share, in one Redis server.
//
//	locker, err := redis.NewLocker(redis.Config{Addr: "10.0.0.7:6379"})
//	…
//	engine.New(store, engine.Config{Locker: locker}, machines...)
//
// # What it guarantees
//
// While a lock is held and has not expired, no other caller gets it: SET with NX and PX takes it,
// and a script that compares the holder extends or releases it. Each holder's token is larger than
// that of every earlier holder of the key, as long as Redis keeps its counters.
//
// A lock can be lost: it expires while its holder is asleep, or Redis forgets it in a restart or
// a failover. So no step relies on it, and the engine's leases and versions keep steps safe.
//
// # What it needs
//
// One Redis server, version 6 or later, and the commands SET, INCR, GET, DEL, PEXPIRE, PTTL and
// EVALSHA on keys with the prefix of the configuration.
//
// # What it must not know
//
// What the locks are for.
package redis
