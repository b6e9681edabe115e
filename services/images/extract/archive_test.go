package extract_test

import (
	"archive/tar"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// member is an entry of an archive that a test makes.
type member struct {
	tar.Header
	content string
}

func reg(name, content string) member {
	return member{tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}, content}
}

func dir(name string) member {
	return member{Header: tar.Header{Typeflag: tar.TypeDir, Name: name, Mode: 0o755}}
}

func sym(name, target string) member {
	return member{Header: tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}}
}

func hard(name, target string) member {
	return member{Header: tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: target, Mode: 0o644}}
}

func special(flag byte, name string) member {
	return member{Header: tar.Header{Typeflag: flag, Name: name, Mode: 0o644}}
}

func archive(members ...member) []byte {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, m := range members {
		if err := w.WriteHeader(&m.Header); err != nil {
			panic(fmt.Sprintf("member %q: %v", m.Name, err))
		}
		if _, err := w.Write([]byte(m.content)); err != nil {
			panic(fmt.Sprintf("member %q: %v", m.Name, err))
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// raw is a header block as archive/tar would not write it, with its content.
func raw(flag byte, name, link, size, content string) []byte {
	block := make([]byte, 512, 1024)
	copy(block[0:100], name)
	copy(block[100:], "0000644\x000000000\x000000000\x00")
	copy(block[124:], fmt.Sprintf("%011s\x00%011o\x00", size, 0))
	block[156] = flag
	copy(block[157:257], link)
	copy(block[257:], "ustar\x0000")
	sign(block)
	block = append(block, content...)
	return append(block, make([]byte, -len(content)&511)...)
}

// sign writes the checksum of a header block.
func sign(block []byte) {
	copy(block[148:156], "        ")
	sum := 0
	for _, b := range block[:512] {
		sum += int(b)
	}
	copy(block[148:], fmt.Sprintf("%06o\x00 ", sum))
}

func join(parts ...[]byte) []byte { return bytes.Join(parts, nil) }

var end = make([]byte, 1024)

// pax is an extended header of type x or g.
func pax(flag byte, records ...string) []byte {
	var content strings.Builder
	for i := 0; i < len(records); i += 2 {
		body := " " + records[i] + "=" + records[i+1] + "\n"
		size := len(body)
		for size != len(fmt.Sprint(size))+len(body) {
			size = len(fmt.Sprint(size)) + len(body)
		}
		fmt.Fprintf(&content, "%d%s", size, body)
	}
	return raw(flag, "PaxHeaders/x", "", fmt.Sprintf("%o", content.Len()), content.String())
}

func gzipped(t testing.TB, plain []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zstandard(t testing.TB, plain []byte) []byte {
	t.Helper()
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return w.EncodeAll(plain, nil)
}
