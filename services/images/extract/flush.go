//go:build unix

package extract

import "sync"

// stretch is how much is written before the disk is set to work on it, so that
// the sync at the end finds little left to do.
const stretch = 16 << 20

// A flusher writes a file system out while it is being written to.
type flusher struct {
	fd      int
	pending int64 // bytes since the last one began
	running sync.WaitGroup
	mu      sync.Mutex
	at      bool  // one is running
	err     error // the kernel tells a lost write once only
}

// wrote says how much was written. It never waits.
func (f *flusher) wrote(bytes int64) {
	if f.pending += bytes; f.pending < stretch || !f.begin() {
		return
	}
	f.pending = 0
	f.running.Go(func() { f.end(syncFS(f.fd)) })
}

// begin reports whether none was running.
func (f *flusher) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at {
		return false
	}
	f.at = true
	return true
}

func (f *flusher) end(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = false
	if f.err == nil {
		f.err = err
	}
}

// wait returns when none is running, with what went wrong with any.
func (f *flusher) wait() error {
	f.running.Wait()
	return f.err
}
