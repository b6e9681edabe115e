//go:build !unix

package extract

import (
	"errors"
	"io"
)

// A tree needs a system with POSIX directories.
type tree struct{}

func openTree(string, *checker) (*tree, error) {
	return nil, errors.Join(errors.New("images are extracted on Unix systems only"), errors.ErrUnsupported)
}

func (*tree) place(entry, io.Reader) error { return errors.ErrUnsupported }
func (*tree) finish() error                { return errors.ErrUnsupported }
func (*tree) close()                       {}
