//go:build unix

package extract_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// GNU tar wrote it; what comes out is what went in, in every format and
// compression.
func TestExtractsWhatTarWrote(t *testing.T) {
	from := image(t)
	const format = "--format=pax --xattrs --xattrs-include=* --numeric-owner "
	for _, options := range []string{"", "--sparse --sparse-version=0.1", "--sparse --sparse-version=1.0", "-z", "--zstd"} {
		t.Run("tar "+options, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "image")
			run(t, from, "tar", append(strings.Fields(format+options), "-cf", file, ".")...)
			root := t.TempDir()
			report := extractFile(t, file, root)
			if !report.Layout.Complete() || report.Files != 12 || report.Links != 5 {
				t.Errorf("report = %+v", report)
			}
			want := describe(t, from)
			for name := range want {
				want[name] = expected(want[name], strings.Contains(options, "--sparse"))
			}
			same(t, describe(t, root), want)
		})
	}
}

// expected is what extraction makes of a file.
func expected(text string, sparse bool) string {
	if !sparse {
		text = strings.Replace(text, " with holes", "", 1)
	}
	if os.Geteuid() == 0 {
		return text
	}
	for with, without := range map[string]string{"urwx": "-rwx", "dgrwx": "drwx"} {
		if rest, ok := strings.CutPrefix(text, with); ok {
			return without + rest
		}
	}
	return text
}

func extractFile(t *testing.T, file, root string) extract.Report {
	t.Helper()
	r, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	report, err := extract.Extract(t.Context(), r, root, extract.Options{Sync: true, Privileges: extract.KeepPrivileges})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seek(0, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	checked, err := extract.Check(t.Context(), r, extract.Options{Privileges: extract.KeepPrivileges})
	if err != nil || checked != report {
		t.Errorf("Check says %+v, %v; Extract says %+v", checked, err, report)
	}
	return report
}

// The formats without extended headers, against tar itself.
func TestExtractsLikeTar(t *testing.T) {
	from := image(t)
	for _, format := range []string{"gnu --sparse", "oldgnu --sparse", "ustar"} {
		file := filepath.Join(t.TempDir(), "image")
		args := append(strings.Fields("--format="+format), "--exclude=empty") // its owner is beyond what these formats know
		run(t, from, "tar", append(args, "-cf", file, ".")...)
		ours, theirs := t.TempDir(), t.TempDir()
		extractFile(t, file, ours)
		args = []string{"-xf", file, "-p", "--numeric-owner", "--delay-directory-restore"}
		if os.Geteuid() != 0 {
			args = append(args, "--no-same-owner")
		}
		run(t, theirs, "tar", args...)
		want := describe(t, theirs)
		for name := range want {
			want[name] = expected(want[name], true)
		}
		same(t, describe(t, ours), want)
	}
}

// Directories whose entries come late, come twice, or are left and entered
// again keep their rights and times.
func TestOrderOfDirectories(t *testing.T) {
	at := time.Unix(1e9, 0)
	timed := func(m member, mode int64) member {
		m.ModTime, m.Mode = at, mode
		return m
	}
	root := t.TempDir()
	_, err := extract.Extract(t.Context(), source(archive(
		timed(dir("a"), 0o750), timed(dir("b"), 0o700), timed(reg("a/one", ""), 0o644), timed(reg("b/one", ""), 0o644), timed(reg("a/two", ""), 0o644),
		timed(reg("late/one", ""), 0o644), timed(dir("late"), 0o711), timed(reg("late/two", ""), 0o644),
		timed(dir("b"), 0o705), timed(reg("none/one", ""), 0o644), timed(dir("."), 0o751),
	)), root, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for name, mode := range map[string]fs.FileMode{"a": 0o750, "b": 0o705, "late": 0o711, ".": 0o751} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil || info.Mode().Perm() != mode || !info.ModTime().Equal(at) {
			t.Errorf("%s: %v %v, %v", name, info.Mode(), info.ModTime(), err)
		}
	}
	if info, err := os.Stat(root + "/none"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("a directory without an entry: %v, %v", info.Mode(), err)
	}
}

// The last of two files of one name wins, and does not write into the first,
// which may have other names.
func TestFileTwice(t *testing.T) {
	root := t.TempDir()
	_, err := extract.Extract(t.Context(), source(archive(reg("a", "first"), hard("b", "a"), reg("a", "second"), sym("l", "x"), sym("l", "y"))), root, extract.Options{})
	if err != nil {
		t.Fatal(err)
	}
	a, _ := os.ReadFile(root + "/a")
	b, _ := os.ReadFile(root + "/b")
	l, _ := os.Readlink(root + "/l")
	if string(a) != "second" || string(b) != "first" || l != "y" {
		t.Errorf("a = %q, b = %q, l -> %q", a, b, l)
	}
}

func TestDevicesWhereAllowed(t *testing.T) {
	pipe := special(tar.TypeFifo, "dev/pipe")
	pipe.Mode = 0o666
	members := []member{pipe}
	if os.Geteuid() == 0 {
		null := special(tar.TypeChar, "dev/null")
		null.Mode, null.Devmajor, null.Devminor = 0o666, 1, 3
		members = append(members, null)
	}
	root := t.TempDir()
	if _, err := extract.Extract(t.Context(), source(archive(members...)), root, extract.Options{AllowDevices: true}); err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		info, err := os.Stat(filepath.Join(root, m.Name))
		if err != nil || info.Mode().IsRegular() || info.Mode().Perm() != 0o666 {
			t.Errorf("%s: %v, %v", m.Name, info.Mode(), err)
		}
		if st := info.Sys().(*syscall.Stat_t); m.Typeflag == tar.TypeChar && fmt.Sprint(st.Rdev) != fmt.Sprint(unix.Mkdev(1, 3)) {
			t.Errorf("%s: device %d", m.Name, st.Rdev)
		}
	}
}

func TestTrustedXattrsAreLeftOut(t *testing.T) {
	m := reg("f", "x")
	m.PAXRecords = map[string]string{"SCHILY.xattr.trusted.overlay.redirect": "/etc", "SCHILY.xattr.user.a": "b"}
	root := t.TempDir()
	report, err := extract.Extract(t.Context(), source(archive(m)), root, extract.Options{})
	if err != nil || report.XattrsLeftOut != 1 {
		t.Errorf("report = %+v, %v", report, err)
	}
	if got := xattrsOf(t, root+"/f"); got != ` user.a="b"` {
		t.Errorf("attributes are%s", got)
	}
}

func TestWhatIsNoArchive(t *testing.T) {
	good := archive(dir("d"), reg("d/f", strings.Repeat("content", 1000)), reg("g", "x"))
	damaged := func(b []byte, at int) []byte {
		b = bytes.Clone(b)
		b[at] ^= 0xff
		return b
	}
	gz, zst := gzipped(t, good), zstandard(t, good)
	for name, tt := range map[string]struct {
		bytes     []byte
		truncated bool
	}{
		"nothing":                        {nil, true},
		"text":                           {[]byte(strings.Repeat("this is no archive\n", 100)), false},
		"short text":                     {[]byte("no"), true},
		"damaged header":                 {damaged(good, 512+3), false},
		"cut in a header":                {good[:700], true},
		"cut in the content":             {good[:2000], true},
		"cut between entries":            {good[:512], true},
		"cut in the padding":             {good[:512+512+7000+10], true},
		"without its end":                {good[:len(good)-1024], true},
		"with half of its end":           {good[:len(good)-512], true},
		"gzip, damaged":                  {damaged(gz, len(gz)/2), false},
		"gzip, wrong checksum":           {damaged(gz, len(gz)-8), false},
		"gzip, cut":                      {gz[:len(gz)-12], true},
		"gzip, cut in the checksum":      {gz[:len(gz)-4], true},
		"gzip, something behind it":      {join(gz, []byte("more and more")), false},
		"zstd, wrong checksum":           {damaged(zst, len(zst)-1), false},
		"zstd, cut":                      {zst[:len(zst)-12], true},
		"zstd, something behind it":      {join(zst, []byte("more")), false},
		"gzip of text":                   {gzipped(t, []byte(strings.Repeat("text", 1000))), false},
		"gzip in gzip":                   {gzipped(t, gz), true},
		"PAX header without its file":    {join(good[:len(good)-1024], pax('x', "path", "x")), true},
		"name with NUL in a PAX header":  {join(pax('x', "path", "a\x00b"), raw('0', "good", "", "0", ""), end), false},
		"negative size in a PAX header":  {join(pax('x', "size", "-1"), raw('0', "good", "", "0", ""), end), false},
		"size that is no number":         {join(raw('0', "good", "", "9", ""), end), false},
		"target with NUL in PAX":         {join(pax('x', "linkpath", "a\x00b"), raw('2', "l", "x", "0", ""), end), false},
		"a block of zeros between files": {join(raw('0', "a", "", "0", ""), end[:512], raw('0', "b", "", "0", ""), end), false},
	} {
		c := newCage(t)
		_, err := extract.Extract(t.Context(), source(tt.bytes), c.root, limits)
		c.intact(t)
		if !errors.Is(err, extract.ErrFormat) || errors.Is(err, io.ErrUnexpectedEOF) != tt.truncated {
			t.Errorf("%s: %v", name, err)
		}
		if _, checked := extract.Check(t.Context(), source(tt.bytes), limits); checked == nil || checked.Error() != err.Error() {
			t.Errorf("%s: Check says %v, Extract says %v", name, checked, err)
		}
	}
}

// Without an error everything was read: a checksum taken on the way is that of
// the whole file.
func TestReadsToTheEnd(t *testing.T) {
	good := join(archive(reg("f", "x")), make([]byte, 1<<20))
	for name, b := range map[string][]byte{
		"plain": good, "gzip": gzipped(t, good), "zstd": zstandard(t, good),
		"two gzip members": join(gzipped(t, good[:1000]), gzipped(t, good[1000:])),
		"two zstd frames":  join(zstandard(t, good[:1000]), zstandard(t, good[1000:])),
	} {
		hash := sha256.New()
		if _, err := extract.Extract(t.Context(), io.TeeReader(bytes.NewReader(b), hash), t.TempDir(), extract.Options{}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if want := sha256.Sum256(b); !bytes.Equal(hash.Sum(nil), want[:]) {
			t.Errorf("%s: not everything was read", name)
		}
	}
}

// An error of the reader is its own, not one of the archive.
func TestReaderFails(t *testing.T) {
	good := archive(reg("f", strings.Repeat("x", 1<<20)))
	broken := errors.New("the line broke")
	for name, b := range map[string][]byte{"plain": good, "gzip": gzipped(t, good), "zstd": zstandard(t, good)} {
		for _, at := range []int{0, 100, len(b) / 2, len(b) - 5} {
			r := io.MultiReader(bytes.NewReader(b[:at]), failing{broken})
			if _, err := extract.Extract(t.Context(), r, t.TempDir(), extract.Options{}); !errors.Is(err, broken) || errors.Is(err, extract.ErrFormat) {
				t.Errorf("%s, after %d bytes: %v", name, at, err)
			}
		}
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestCancelled(t *testing.T) {
	good := archive(reg("a", "x"), reg("b", strings.Repeat("x", 1<<20)), reg("c", "x"))
	for name, b := range map[string][]byte{"plain": good, "gzip": gzipped(t, good), "zstd": zstandard(t, good)} {
		ctx, cancel := context.WithCancelCause(t.Context())
		enough := errors.New("enough")
		var files int64
		_, err := extract.Extract(ctx, bytes.NewReader(b), t.TempDir(), extract.Options{Progress: func(_, n int64) {
			files = n
			cancel(enough)
		}})
		if !errors.Is(err, enough) || files != 1 {
			t.Errorf("%s: %v after %d files", name, err, files)
		}
	}
}

func TestProgress(t *testing.T) {
	good := archive(dir("d"), reg("d/big", strings.Repeat("x", 4<<20)), reg("e", "yy"))
	for name, b := range map[string][]byte{"plain": good, "gzip": gzipped(t, good), "zstd": zstandard(t, good)} {
		var bytes, files, calls int64
		_, err := extract.Extract(t.Context(), source(b), t.TempDir(), extract.Options{Progress: func(b, f int64) {
			if b < bytes || f < files {
				t.Errorf("%s: %d bytes, %d files after %d and %d", name, b, f, bytes, files)
			}
			bytes, files = b, f
			calls++
		}})
		if err != nil || bytes != 4<<20+2 || files != 2 || calls < 12 {
			t.Errorf("%s: %d bytes, %d files, %d calls, %v", name, bytes, files, calls, err)
		}
	}
}

// What is allocated does not grow with what is extracted.
func TestMemoryIsBounded(t *testing.T) {
	const bytes = 256 << 20
	huge := func() io.Reader {
		header := raw('0', "huge", "", fmt.Sprintf("%o", bytes), "")
		return io.MultiReader(strings.NewReader(string(header)), io.LimitReader(endless{}, bytes), strings.NewReader(string(end)))
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	report, err := extract.Extract(t.Context(), huge(), t.TempDir(), extract.Options{})
	if _, checked := extract.Check(t.Context(), huge(), extract.Options{}); err != nil || checked != nil || report.Bytes != bytes {
		t.Fatalf("%d bytes: %v, %v", report.Bytes, err, checked)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 8<<20 {
		t.Errorf("%d bytes were allocated", used)
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestRootThatIsNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, root := range []string{file, file + "/below", file + "-missing"} {
		if _, err := extract.Extract(t.Context(), source(archive()), root, extract.Options{}); err == nil {
			t.Errorf("%s was taken for a root", root)
		}
	}
}

func TestLayout(t *testing.T) {
	root := t.TempDir()
	run(t, root, "sh", "-c", "mkdir rootfs etc; ln -s etc usr; : > var")
	l, err := extract.ReadLayout(root)
	if want := (extract.Layout{Rootfs: true, Etc: true}); l != want || err != nil || l.Complete() {
		t.Errorf("layout = %+v, %v", l, err)
	}
	run(t, root, "sh", "-c", "rm usr var; mkdir usr var")
	if l, err := extract.ReadLayout(root); !l.Complete() || err != nil {
		t.Errorf("layout = %+v, %v", l, err)
	}
	if _, err := extract.ReadLayout(root + "/missing"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error = %v", err)
	}
	// An archive that only implies its directories has them all the same.
	report, err := extract.Check(t.Context(), source(archive(reg("rootfs/a", ""), reg("etc/a", ""), reg("./usr//a", ""), sym("var", "etc"))), extract.Options{})
	if want := (extract.Layout{Rootfs: true, Etc: true, Usr: true}); err != nil || report.Layout != want {
		t.Errorf("report = %+v, %v", report, err)
	}
}
