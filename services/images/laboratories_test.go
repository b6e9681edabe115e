package images_test

import (
	"context"
	"path/filepath"

	"github.com/fsmgen/fsmgen/adapters/directory"
	"github.com/fsmgen/fsmgen/adapters/s3"
	"github.com/fsmgen/fsmgen/services/images"
)

// laboratories are those of this machine; a guest with device-mapper adds one.
var laboratories = map[string]laboratory{
	"directory": {volumes: func(dir string) func(context.Context, images.Numbers) (images.Volumes, error) {
		return func(context.Context, images.Numbers) (images.Volumes, error) {
			return directory.New(directory.Config{Root: filepath.Join(dir, "volumes")})
		}
	}},
}

// bucket is the object store of a test's folder.
func bucket(dir string) images.Objects { return s3.Directory{Root: filepath.Join(dir, "bucket")} }
