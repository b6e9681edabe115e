package extract

import (
	"errors"
	"io"
)

// freeBytes is what every archive may unpack to, whatever its packed size: small
// archives of zeros are no attack.
const freeBytes = 64 << 20

// errRatio: the archive unpacks to too much.
var errRatio = errors.New("the archive unpacks to more times its packed size than allowed")

// ratio reads what is unpacked and compares its length with what was read of the
// source. Unpackers read ahead by less than a megabyte, in the archive's favour.
type ratio struct {
	r      io.Reader
	source *source
	max    int64
	read   int64
}

func (s *stream) ratio(unpacked io.Reader) io.Reader {
	return &ratio{r: unpacked, source: s.source, max: s.o.MaxRatio}
}

// Read is io.Reader.
func (r *ratio) Read(p []byte) (int, error) {
	n, err := r.r.Read(p)
	r.read += int64(n)
	if r.read > freeBytes && r.read/r.max > r.source.length() {
		return 0, errRatio
	}
	return n, err
}
