package extract

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

const (
	blockSize = 512 // of a tar
	// maxTail bounds the zeros that pad an archive to the record of a tape.
	maxTail = 16 << 20
	// maxWindow is the memory that a zstd frame may ask for. Levels up to 19
	// want 8 MiB; --ultra and --long may want more than an image is worth.
	maxWindow = 32 << 20
)

// Headers beyond a limit: archive/tar bounds the size of each, but not how many
// there are.
var (
	errHeader  = errors.New("the headers of one entry are too long")
	errHeaders = errors.New("the headers of all entries are too long")
)

// A stream is the tar within what is read.
type stream struct {
	ctx    context.Context
	source *source
	plain  *bufio.Reader // unpacked
	close  func()
	o      Options
	read   int64 // bytes of the tar so far
	began  int64 // read where the current headers begin; -1 in content
	before int64 // bytes of all headers before the current ones
	zero   bool  // the last block that was read is zero
}

// open finds out how r is packed.
func open(ctx context.Context, r io.Reader, o Options) (*stream, error) {
	src := &source{r: r}
	packed := bufio.NewReaderSize(src, 64<<10)
	s := &stream{ctx: ctx, source: src, o: o, began: -1, close: func() {}}
	magic, err := packed.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, s.failed(err)
	}
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(packed)
		if err != nil {
			return nil, s.failed(err)
		}
		s.readAhead(s.ratio(z))
	case bytes.HasPrefix(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(packed, zstd.WithDecoderMaxWindow(maxWindow), zstd.WithDecoderLowmem(true), zstd.WithDecoderConcurrency(2))
		if err != nil {
			return nil, s.failed(err)
		}
		s.plain, s.close = bufio.NewReaderSize(s.ratio(z), 64<<10), z.Close
	default:
		s.readAhead(packed) // the caller may compute a checksum while it reads
	}
	return s, nil
}

func (s *stream) readAhead(r io.Reader) {
	a := readAhead(r)
	s.plain, s.close = bufio.NewReaderSize(a, blockSize*8), a.stop
}

// Read fills p if it is short, as headers are. That is what lets the end of the
// archive be recognised: two blocks of zeros.
func (s *stream) Read(p []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	if err := s.headerLimit(); err != nil {
		return 0, err
	}
	var n int
	var err error
	if len(p) > blockSize {
		n, err = s.plain.Read(p)
	} else {
		p, err = readFull(s.plain, p)
		n = len(p)
	}
	s.read += int64(n)
	s.zero = len(p) == blockSize && isZero(p)
	return n, err
}

// headers says that headers are read now, content when it is false.
func (s *stream) headers(now bool) {
	switch {
	case now:
		s.began = s.read
	case s.began >= 0:
		s.before += s.read - s.began
		s.began = -1
	}
}

func (s *stream) headerLimit() error {
	switch length := s.read - s.began; {
	case s.began < 0:
		return nil
	case length >= s.o.MaxHeader:
		return errHeader
	case s.before+length >= s.o.MaxHeaders:
		return errHeaders
	}
	return nil
}

// errTail: something follows the end of the archive.
var errTail = errors.New("there is something behind the end of the archive")

// end reads what is behind the archive, so that checksums are verified, and
// admits nothing but padding. An archive without an end is a part of one.
func (s *stream) end() error {
	if !s.zero {
		return fmt.Errorf("the two blocks of zeros at its end are missing: %w", io.ErrUnexpectedEOF)
	}
	s.headers(false)
	buffer := make([]byte, 32<<10)
	for total := 0; ; {
		n, err := s.Read(buffer)
		if total += n; total > maxTail || !isZero(buffer[:n]) {
			return errTail
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// failed tells what broke: the reader that was given, the caller's patience, or
// the archive.
func (s *stream) failed(err error) error {
	switch {
	case errors.Is(err, errRatio):
		return err
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case s.source.failed() != nil:
		return fmt.Errorf("read the archive: %w", s.source.failed())
	}
	return fmt.Errorf("%w: %w", ErrFormat, err)
}

func isZero(p []byte) bool {
	const step = 4096
	for len(p) > step {
		if !bytes.Equal(p[:step], zeros[:]) {
			return false
		}
		p = p[step:]
	}
	return bytes.Equal(p, zeros[:len(p)])
}

var zeros [4096]byte
