package daemon

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// minToken is how many characters a token has at least: those that openssl rand
// -hex 16 prints have twice as many.
const minToken = 16

// tokens are those of a file, read again when it changes. Safe for concurrent use.
type tokens struct {
	file string

	mu   sync.Mutex
	at   time.Time // of the change that was read
	size int64
	sums [][sha256.Size]byte
}

// readTokens reads the file for the first time.
func readTokens(file string) (*tokens, error) {
	t := &tokens{file: file}
	_, err := t.now()
	return t, err
}

// has reports whether a token is in the file as it is now. An error means that it
// can't be read: no token is in it then.
func (t *tokens) has(token string) (bool, error) {
	sums, err := t.now()
	sum, found := sha256.Sum256([]byte(token)), 0
	for _, own := range sums { // each, so that the time tells nothing
		found |= subtle.ConstantTimeCompare(sum[:], own[:])
	}
	return found == 1, err
}

// now are the tokens of the file as it is now.
func (t *tokens) now() ([][sha256.Size]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	info, err := os.Stat(t.file)
	if err == nil && t.sums != nil && info.ModTime().Equal(t.at) && info.Size() == t.size {
		return t.sums, nil
	}
	t.sums = nil
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("token file %s can be read by every user of this machine: chmod 600 %[1]s", t.file)
	}
	text, err := os.ReadFile(t.file)
	if err != nil {
		return nil, fmt.Errorf("token file: %w", err)
	}
	sums, err := sumsOf(string(text))
	if err != nil {
		return nil, fmt.Errorf("token file %s: %w", t.file, err)
	}
	t.at, t.size, t.sums = info.ModTime(), info.Size(), sums
	return sums, nil
}

func sumsOf(text string) (sums [][sha256.Size]byte, err error) {
	for token := range strings.Lines(text) {
		token = strings.TrimSpace(token)
		switch {
		case token == "":
		case len(token) < minToken:
			return nil, fmt.Errorf("a token has fewer than %d characters: make one with openssl rand -hex 32", minToken)
		default:
			sums = append(sums, sha256.Sum256([]byte(token)))
		}
	}
	if len(sums) == 0 {
		return nil, fmt.Errorf("there is no token in it: make one with openssl rand -hex 32")
	}
	return sums, nil
}

// Token is the first token of a file, for a client.
func Token(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("token file: %w", err)
	}
	for token := range strings.Lines(string(text)) {
		if token = strings.TrimSpace(token); token != "" {
			return token, nil
		}
	}
	return "", fmt.Errorf("token file %s: there is no token in it", file)
}
