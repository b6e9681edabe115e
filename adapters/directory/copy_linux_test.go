package directory

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/fsmgen/fsmgen/internal/parts"
)

// copied makes a tree by prepare, copies it, and returns both.
func copied(t *testing.T, prepare func(from string)) (from, to string) {
	t.Helper()
	from, to = filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	for _, dir := range []string{from, to} {
		must(t, os.Mkdir(dir, 0o755))
	}
	prepare(from)
	must(t, copyTree(t.Context(), from, to))
	return from, to
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestCopyKeepsExtendedAttributes(t *testing.T) {
	long := bytes.Repeat([]byte("v"), 2000) // larger than the first buffer
	_, to := copied(t, func(from string) {
		file := filepath.Join(from, "file")
		must(t, os.WriteFile(file, nil, 0o600))
		if err := unix.Lsetxattr(file, "user.long", long, 0); errors.Is(err, unix.ENOTSUP) {
			parts.Missing(t, "the file system of temporary files has no extended attributes: let TMPDIR name another")
		} else {
			must(t, err)
		}
		must(t, unix.Lsetxattr(file, "user.empty", nil, 0))
		must(t, unix.Lsetxattr(from, "user.top", []byte("x"), 0))
	})
	for _, c := range []struct {
		path, name string
		want       []byte
	}{{"file", "user.long", long}, {"file", "user.empty", nil}, {"", "user.top", []byte("x")}} {
		value := make([]byte, 4096)
		n, err := unix.Lgetxattr(filepath.Join(to, c.path), c.name, value)
		if err != nil || !bytes.Equal(value[:n], c.want) {
			t.Errorf("%s of %q is %.20q, %v", c.name, c.path, value[:max(n, 0)], err)
		}
	}
}

// A hole is copied as a hole, and what is between holes is not lost.
func TestCopyKeepsHoles(t *testing.T) {
	const size = 64 << 20
	from, to := copied(t, func(from string) {
		file, err := os.Create(filepath.Join(from, "sparse"))
		must(t, err)
		must(t, file.Truncate(size))
		for _, at := range []int64{0, 1 << 20, size - 3} {
			_, err := file.WriteAt([]byte("abc"), at)
			must(t, err)
		}
		must(t, file.Close())
	})
	want, err := os.ReadFile(filepath.Join(from, "sparse"))
	must(t, err)
	got, err := os.ReadFile(filepath.Join(to, "sparse"))
	must(t, err)
	if !bytes.Equal(got, want) {
		t.Error("the copy has another content")
	}
	info, err := os.Stat(filepath.Join(to, "sparse"))
	must(t, err)
	if taken := info.Sys().(*syscall.Stat_t).Blocks * 512; taken > 1<<20 {
		t.Errorf("the copy of a file with 9 bytes takes %d", taken)
	}
}

func TestCopyEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := copyTree(ctx, t.TempDir(), t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled copy: %v", err)
	}
}

// A user other than root owns files and folders that their modes close to it.
func TestCopyOfWhatIsClosed(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	from, to := copied(t, func(from string) {
		must(t, os.WriteFile(filepath.Join(from, "shadow"), []byte("secret"), 0o600))
		must(t, os.Mkdir(filepath.Join(from, "closed"), 0o700))
		must(t, os.WriteFile(filepath.Join(from, "closed", "inner"), []byte("inner"), 0o600))
		must(t, os.Chmod(filepath.Join(from, "closed", "inner"), 0))
		must(t, os.Chmod(filepath.Join(from, "closed"), 0))
		must(t, os.Chmod(filepath.Join(from, "shadow"), 0))
	})
	for _, dir := range []string{from, to} {
		for name, want := range map[string]fs.FileMode{"shadow": 0, "closed": fs.ModeDir} {
			if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || info.Mode() != want {
				t.Errorf("%s in %s: %v, %v", name, dir, info, err)
			}
		}
	}
	must(t, os.Chmod(filepath.Join(to, "closed"), 0o700))
	must(t, os.Chmod(filepath.Join(to, "closed", "inner"), 0o400))
	if data, err := os.ReadFile(filepath.Join(to, "closed", "inner")); err != nil || string(data) != "inner" {
		t.Errorf("what was closed is %q, %v", data, err)
	}
	must(t, removeTree(from))
	must(t, removeTree(to))
}

// asNobody runs the test that calls it again, as a user without rights.
func asNobody(t *testing.T) {
	t.Helper()
	const nobody = 65534
	dir, err := os.MkdirTemp("", "nobody")
	must(t, err)
	t.Cleanup(func() { must(t, removeTree(dir)) })
	must(t, os.Chown(dir, nobody, nobody))
	program, err := os.ReadFile("/proc/self/exe")
	must(t, err)
	binary := filepath.Join(dir, "test")
	must(t, os.WriteFile(binary, program, 0o755))
	must(t, os.Chmod(binary, 0o755)) // whatever the umask
	must(t, os.Chmod(dir, 0o755))
	cmd := exec.Command(binary, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if err != nil || !bytes.Contains(out, []byte("--- PASS: "+t.Name())) {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
