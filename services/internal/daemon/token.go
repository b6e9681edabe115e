package daemon

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/fsmgen/fsmgen/services/internal/secretfile"
)

// minToken is how many characters a token has at least: those that openssl rand
// -hex 16 prints have twice as many.
const minToken = 16

const makeToken = "make one with openssl rand -hex 32"

// tokens are those of a file, read again when it changes. Safe for concurrent use.
type tokens struct{ file *secretfile.File }

// readTokens reads the file for the first time.
func readTokens(name string) (*tokens, error) {
	f, err := secretfile.Open(name, func(token string) error {
		if len(token) < minToken {
			return fmt.Errorf("a token has fewer than %d characters: "+makeToken, minToken)
		}
		return nil
	})
	return &tokens{f}, explained(err)
}

// has reports whether a token is in the file as it is now. An error means that it
// can't be read: no token is in it then.
func (t *tokens) has(token string) (bool, error) {
	own, err := t.file.Secrets()
	sum, found := sha256.Sum256([]byte(token)), 0
	for _, o := range own { // each, so that the time tells nothing
		other := sha256.Sum256([]byte(o))
		found |= subtle.ConstantTimeCompare(sum[:], other[:])
	}
	return found == 1, explained(err)
}

// explained says of which file an error is.
func explained(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, secretfile.ErrEmpty):
		return fmt.Errorf("token file %w: "+makeToken, err)
	}
	return fmt.Errorf("token file %w", err)
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
