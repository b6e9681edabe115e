//go:build unix

package images_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/directory"
	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/services/images"
)

// directories keeps volumes in directories of the test's folder.
var directories = laboratory{volumes: inDirectories, keeper: directoryKeeper}

func inDirectories(dir string, step func(string) error) keeperMaker {
	return func(context.Context, images.Numbers) (images.Volumes, error) {
		return directory.New(directory.Config{Root: filepath.Join(dir, "volumes"), Step: step})
	}
}

func directoryKeeper(t *testing.T, dir string) images.Volumes {
	t.Helper()
	v, err := inDirectories(dir, nil)(t.Context(), images.Numbers{})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// bucket is the object store of a test's folder.
func bucket(dir string) images.Objects { return s3.Directory{Root: filepath.Join(dir, "bucket")} }
