// Package secretfile reads secrets from a file that has one a line, again when the file changes.
package secretfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
)

// File is a file of secrets. It is safe for concurrent use.
type File struct {
	name  string
	check func(secret string) error

	mu      sync.Mutex
	at      time.Time // of the change that was read
	size    int64
	secrets []string
}

// ErrEmpty is returned for a file without a secret.
var ErrEmpty = errors.New("there is no secret in it")

// Open reads a file for the first time. check says what is wrong with a secret, and is called for
// each that is read.
func Open(name string, check func(secret string) error) (*File, error) {
	f := &File{name: name, check: check}
	_, err := f.Secrets()
	return f, err
}

// Secrets returns the secrets of the file as it is now, in its order, and at least one. The error
// says what is wrong with the file: it can't be read, every user of the machine can read it, it is
// [ErrEmpty], or a secret in it is bad. No secret is used then.
func (f *File) Secrets() ([]string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	info, err := os.Stat(f.name)
	if err == nil && f.secrets != nil && info.ModTime().Equal(f.at) && info.Size() == f.size {
		return f.secrets, nil
	}
	f.secrets = nil
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o007 != 0 {
		return nil, fmt.Errorf("%s can be read by every user of this machine: chmod 600 %[1]s", f.name)
	}
	text, err := os.ReadFile(f.name)
	if err != nil {
		return nil, err
	}
	secrets, err := f.parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.name, err)
	}
	f.at, f.size, f.secrets = info.ModTime(), info.Size(), secrets
	return secrets, nil
}

func (f *File) parse(text []byte) (secrets []string, err error) {
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		secret := strings.TrimSpace(lines.Text())
		if secret == "" {
			continue
		}
		if err := f.check(secret); err != nil {
			return nil, err
		}
		secrets = append(secrets, secret)
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	if len(secrets) == 0 {
		return nil, ErrEmpty
	}
	return secrets, nil
}
