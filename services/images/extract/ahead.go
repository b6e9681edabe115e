package extract

import (
	"errors"
	"io"
	"sync"
)

// source remembers how much was read of the reader that was given, and how it
// failed. The unpackers read it in goroutines of their own.
type source struct {
	r    io.Reader
	mu   sync.Mutex
	read int64
	err  error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.read += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

func (s *source) length() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.read
}

func (s *source) failed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// ahead reads in a goroutine, a megabyte ahead of its reader: reading, unpacking
// and writing files take turns otherwise.
type ahead struct {
	full, free chan piece
	stopped    chan struct{}
	ended      sync.WaitGroup
	now        piece
	rest       []byte // of now
}

type piece struct {
	bytes []byte
	err   error
}

// So many pieces are read ahead at most, each of so many bytes.
const pieces, pieceBytes = 4, 256 << 10

func readAhead(r io.Reader) *ahead {
	a := &ahead{full: make(chan piece, pieces), free: make(chan piece, pieces), stopped: make(chan struct{})}
	for range pieces {
		a.free <- piece{} // what is short needs but one of them
	}
	a.ended.Go(func() { a.fill(r) })
	return a
}

// fill runs until r ends or the reader is closed.
func (a *ahead) fill(r io.Reader) {
	for {
		select {
		case <-a.stopped:
			return
		case p := <-a.free:
			if p.bytes == nil {
				p.bytes = make([]byte, pieceBytes)
			}
			p.bytes, p.err = readFull(r, p.bytes[:cap(p.bytes)])
			a.full <- p // never blocks: there are no more pieces than places
			if p.err != nil {
				return
			}
		}
	}
}

// readFull is io.ReadFull with the error of r as it is: an end, or a truncation.
func readFull(r io.Reader, p []byte) ([]byte, error) {
	filled := 0
	for filled < len(p) {
		n, err := r.Read(p[filled:])
		filled += n
		if err != nil {
			return p[:filled], err
		}
	}
	return p, nil
}

func (a *ahead) Read(p []byte) (int, error) {
	for len(a.rest) == 0 {
		if a.now.err != nil {
			return 0, a.now.err
		}
		if a.now.bytes != nil {
			a.free <- a.now
		}
		a.now = <-a.full
		a.rest = a.now.bytes
	}
	n := copy(p, a.rest)
	a.rest = a.rest[n:]
	return n, nil
}

// stop returns when the goroutine has ended, which may be waiting for r.
func (a *ahead) stop() {
	close(a.stopped)
	a.ended.Wait()
}
