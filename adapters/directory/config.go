package directory

import (
	"fmt"
	"path/filepath"
)

// Config configures Volumes.
type Config struct {
	Root string // an absolute folder on one file system, made if it is missing

	// Step, if set, is called with the name of each step that changes something,
	// before it. Its error ends the call there and then, like a crash: nothing is
	// cleaned up. It is for tests.
	Step func(point string) error
}

func (c Config) withDefaults() Config {
	if c.Step == nil {
		c.Step = func(string) error { return nil }
	}
	return c
}

func (c Config) validate() error {
	if !filepath.IsAbs(c.Root) {
		return fmt.Errorf("the folder Root must be absolute, not %q", c.Root)
	}
	return nil
}
