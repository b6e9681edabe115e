//go:build unix

package extract_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// FuzzExtract: whatever the bytes are, nothing outside of the root changes, and
// Check checks as Extract does.
//
// A header with a wrong checksum is where an archive ends, so the checksums are
// put right after every mutation, and names that begin with OUTSIDE lead to the
// canary.
func FuzzExtract(f *testing.F) {
	for _, h := range hostiles {
		if b := h.bytes("/OUTSIDE"); len(b) < 64<<10 {
			f.Add(b)
		}
	}
	good := archive(dir("d"), reg("d/f", "content"), hard("h", "d/f"), sym("s", "/OUTSIDE/file"), reg("d/.wh.f", ""), reg(".wh..wh..opq", ""))
	f.Add(good)
	f.Add(gzipped(f, good))
	f.Add(zstandard(f, good))
	f.Add(join(pax('x', "path", "d/long", "SCHILY.xattr.user.a", "b", "mtime", "1.5"), raw('0', "g", "", "1", "x"), end))

	c := newCage(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		b = repair(bytes.Clone(b), c.outside)
		if err := os.Mkdir(c.root, 0o755); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		_, extracted := extract.Extract(t.Context(), source(b), c.root, limits)
		c.intact(t)
		_, checked := extract.Check(t.Context(), source(b), limits)
		if isVerdict(extracted) && fmt.Sprint(extracted) != fmt.Sprint(checked) {
			t.Errorf("Extract says %v, Check says %v", extracted, checked)
		}
		if err := emptied(c.root); err != nil {
			t.Fatal(err)
		}
	})
}

// isVerdict tells what Check can find, too, from what only a disk can say: an
// extended attribute or a time that it does not take.
func isVerdict(err error) bool {
	var refused *extract.RefusedError
	return err == nil || errors.As(err, &refused) || errors.Is(err, extract.ErrFormat)
}

// emptied removes a root, whatever the rights within it are.
func emptied(root string) error {
	if os.Geteuid() == 0 {
		return os.RemoveAll(root)
	}
	if err := os.Chmod(root, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := emptied(root + "/" + e.Name()); err != nil {
				return err
			}
		}
	}
	return os.RemoveAll(root)
}

// repair signs the headers of an archive, if it is one, and aims absolute names
// at the canary.
func repair(b []byte, outside string) []byte {
	for at := 0; at+512 <= len(b); {
		block := b[at : at+512]
		if bytes.Equal(block, make([]byte, 512)) {
			at += 512
			continue
		}
		if !bytes.HasPrefix(block[257:], []byte("ustar")) {
			return b
		}
		for _, field := range [][]byte{block[:100], block[157:257]} {
			if rest, ok := bytes.CutPrefix(bytes.TrimRight(field, "\x00"), []byte("/OUTSIDE")); ok {
				name := append([]byte(outside), rest...)
				clear(field[copy(field, name):])
			}
		}
		sign(block)
		size, err := strconv.ParseInt(strings.Trim(string(block[124:136]), " \x00"), 8, 32)
		if err != nil || size < 0 {
			size = 0
		}
		at += 512 + (int(size)+511)&^511
	}
	return b
}
