package directory_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/deal/posts"
	"github.com/fsmgen/fsmgen/services/deal/posts/directory"
	"github.com/fsmgen/fsmgen/services/deal/posts/posttest"
)

func open(t *testing.T, folder string, c directory.Config) *directory.Channel {
	t.Helper()
	channel, err := directory.Open(folder, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = channel.Close() })
	return channel
}

func TestConformance(t *testing.T) {
	t.Parallel()
	posttest.Run(t, func(t *testing.T) posttest.Place {
		folder := filepath.Join(t.TempDir(), "posts")
		channel := open(t, folder, directory.Config{})
		file := func(key string) string { return filepath.Join(folder, key+".json") }
		return posttest.Place{
			Channel: channel,
			Edit:    func(key string, content []byte) error { return os.WriteFile(file(key), content, 0o600) },
			Delete:  func(key string) error { return os.Remove(file(key)) },
			Cut:     channel.Close,
		}
	})
}

var errCrash = errors.New("the process ends here")

// TestACrashLeavesNoHalfPost: wherever a process ends, a reader sees the whole post or none, and
// another process publishes it.
func TestACrashLeavesNoHalfPost(t *testing.T) {
	t.Parallel()
	content := []byte(strings.Repeat("content ", 1000))
	whole := posts.Sight{Seen: true, Hash: posts.Hash(content)}
	for _, tt := range []struct {
		point string
		want  posts.Sight
	}{{"create", posts.Sight{}}, {"write", posts.Sight{}}, {"link", posts.Sight{}}, {"remove", whole}} {
		folder, passed := t.TempDir(), false
		crashing := open(t, folder, directory.Config{Step: func(point string) error {
			if passed = point == tt.point; passed {
				return errCrash
			}
			return nil
		}})
		if err := crashing.Publish(t.Context(), "post", content); !errors.Is(err, errCrash) || !passed {
			t.Fatalf("%s: %v", tt.point, err)
		}
		next := open(t, folder, directory.Config{})
		if sight, err := next.Look(t.Context(), "post"); err != nil || sight != tt.want {
			t.Errorf("after a crash before %s there is %+v, %v", tt.point, sight, err)
		}
		if err := next.Publish(t.Context(), "post", content); err != nil {
			t.Errorf("after a crash before %s: %v", tt.point, err)
		}
		if sight, err := next.Look(t.Context(), "post"); err != nil || sight != whole {
			t.Errorf("published after a crash before %s: %+v, %v", tt.point, sight, err)
		}
	}
}

// TestOnlyAFileIsAPost: what else stands at the name of a post is seen, and is not the post.
func TestOnlyAFileIsAPost(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	channel := open(t, folder, directory.Config{})
	outside := filepath.Join(t.TempDir(), "outside")
	must(t, os.WriteFile(outside, []byte("x"), 0o600))
	must(t, os.Mkdir(filepath.Join(folder, "folder.json"), 0o700))
	must(t, os.Symlink(outside, filepath.Join(folder, "link.json")))
	for _, key := range []string{"folder", "link"} {
		if sight, err := channel.Look(t.Context(), key); err != nil || sight != (posts.Sight{Seen: true}) {
			t.Errorf("%s: %+v, %v", key, sight, err)
		}
		if err := channel.Publish(t.Context(), key, []byte("x")); !errors.Is(err, posts.ErrConflict) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

// TestAFolderThatCannotBe is an error of Open.
func TestAFolderThatCannotBe(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if c, err := directory.Open(file, directory.Config{}); err == nil {
		t.Error("a file is taken as the folder")
		must(t, c.Close())
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
