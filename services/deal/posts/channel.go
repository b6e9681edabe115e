package posts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
)

// Channel is where posts are published. It must pass the conformance suite posttest, and must be
// safe for concurrent use.
type Channel interface {
	// Publish makes the post of a key. When it returns nil, the post is there and survives a crash
	// of the caller. If the key has a post with this content already, that is the post. If it has one
	// with other content, the error is [ErrConflict] and the post stays as it is. A post that can
	// never be published is [ErrRefused]. After any other error the post may or may not be there, and
	// Publish may be called again. With a context that has ended it publishes nothing.
	Publish(ctx context.Context, key string, content []byte) error
	// Look reads the post of a key. An error is no evidence: the post may be there, changed or gone.
	Look(ctx context.Context, key string) (Sight, error)
}

// Sight is what a look at a channel found.
type Sight struct {
	Seen bool   // a post is there
	Hash string // [Hash] of its content; "": the content can't be that of a post
}

var (
	// ErrConflict is returned when the key has a post with other content.
	ErrConflict = errors.New("posts: the key has another post")
	// ErrRefused is returned for a post that can never be published.
	ErrRefused = errors.New("posts: the post is refused")
)

// Permanent reports whether publishing again would meet the same error.
func Permanent(err error) bool { return errors.Is(err, ErrConflict) || errors.Is(err, ErrRefused) }

// Hash returns the SHA-256 of a content in hexadecimal, 64 digits.
func Hash(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// MaxContent is the largest content of a post, in bytes.
const MaxContent = 1 << 20

var keys = regexp.MustCompile(`^[0-9A-Za-z_-]{1,128}$`)

// CheckKey returns [ErrRefused] unless a key has 1 to 128 letters, digits, "-" and "_". So it is one
// element of a path, for every channel.
func CheckKey(key string) error {
	if !keys.MatchString(key) {
		return fmt.Errorf("%w: a key has 1 to 128 letters, digits, - and _, not %.200q", ErrRefused, key)
	}
	return nil
}

// CheckPost returns [ErrRefused] unless the key is one by [CheckKey], and the content has 1 to
// [MaxContent] bytes.
func CheckPost(key string, content []byte) error {
	if len(content) == 0 || len(content) > MaxContent {
		return fmt.Errorf("%w: the content of %.200q has %d bytes: write 1 to %d", ErrRefused, key, len(content), MaxContent)
	}
	return CheckKey(key)
}
