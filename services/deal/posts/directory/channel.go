package directory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// Channel is a [posts.Channel] in a folder. It is safe for concurrent use, also by several processes.
type Channel struct {
	root *os.Root
	step func(point string) error
}

var _ posts.Channel = (*Channel)(nil)

// Config configures a Channel.
type Config struct {
	// Step, if set, is called with the name of each step that changes something, before it. Its
	// error ends the call there and then, like a crash: nothing is cleaned up. It is for tests.
	Step func(point string) error
}

// Open returns the channel in a folder, which is made if it is missing.
func Open(folder string, c Config) (*Channel, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, fmt.Errorf("posts directory: make the folder: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("posts directory: %w", err)
	}
	if c.Step == nil {
		c.Step = func(string) error { return nil }
	}
	return &Channel{root: root, step: c.Step}, nil
}

// Close closes the folder. Calls after that return an error.
func (c *Channel) Close() error { return c.root.Close() }

// suffix of the file of a post.
const suffix = ".json"

// Publish implements [posts.Channel].
func (c *Channel) Publish(ctx context.Context, key string, content []byte) error {
	if err := posts.CheckPost(key, content); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("publish %s: %w", key, err)
	}
	if err := c.publish(key, content); err != nil {
		return fmt.Errorf("publish %s: %w", key, err)
	}
	return nil
}

func (c *Channel) publish(key string, content []byte) error {
	there, err := c.compare(key, content)
	if err == nil && !there {
		err = c.make(key, content)
	}
	if err != nil {
		return err
	}
	return c.settle()
}

// compare reports whether the post is there. The error is posts.ErrConflict if another one is.
func (c *Channel) compare(key string, content []byte) (there bool, err error) {
	sight, err := c.look(key)
	if err != nil || !sight.Seen {
		return false, err
	}
	if sight.Hash != posts.Hash(content) {
		return false, fmt.Errorf("%w: %s has the hash %q", posts.ErrConflict, key+suffix, sight.Hash)
	}
	return true, nil
}

// make writes a hidden file and links it to the name of the post. If another call was first, its post
// decides.
func (c *Channel) make(key string, content []byte) error {
	hidden := "." + key + "." + rand.Text()
	if err := c.write(hidden, content); err != nil {
		return err
	}
	if err := c.step("link"); err != nil {
		return err
	}
	if err := c.root.Link(hidden, key+suffix); err != nil && !errors.Is(err, fs.ErrExist) {
		return errors.Join(err, c.root.Remove(hidden))
	}
	if err := c.step("remove"); err != nil {
		return err
	}
	if err := c.root.Remove(hidden); err != nil {
		return err
	}
	_, err := c.compare(key, content)
	return err
}

func (c *Channel) write(name string, content []byte) error {
	if err := c.step("create"); err != nil {
		return err
	}
	f, err := c.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	if err := c.step("write"); err != nil {
		return errors.Join(err, f.Close())
	}
	if _, err = f.Write(content); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// settle makes the names of the folder survive a power failure.
func (c *Channel) settle() error {
	folder, err := c.root.Open(".")
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// Look implements [posts.Channel].
func (c *Channel) Look(ctx context.Context, key string) (posts.Sight, error) {
	if err := posts.CheckKey(key); err != nil {
		return posts.Sight{}, err
	}
	if err := ctx.Err(); err != nil {
		return posts.Sight{}, fmt.Errorf("look at %s: %w", key, err)
	}
	sight, err := c.look(key)
	if err != nil {
		return posts.Sight{}, fmt.Errorf("look at %s: %w", key, err)
	}
	return sight, nil
}

func (c *Channel) look(key string) (posts.Sight, error) {
	info, err := c.root.Lstat(key + suffix)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return posts.Sight{}, nil
	case err != nil:
		return posts.Sight{}, err
	case !info.Mode().IsRegular() || info.Size() > posts.MaxContent:
		return posts.Sight{Seen: true}, nil
	}
	f, err := c.root.Open(key + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return posts.Sight{}, nil
	} else if err != nil {
		return posts.Sight{}, err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, io.LimitReader(f, posts.MaxContent+1)); err != nil {
		return posts.Sight{}, err
	}
	return posts.Sight{Seen: true, Hash: hex.EncodeToString(h.Sum(nil))}, nil
}
