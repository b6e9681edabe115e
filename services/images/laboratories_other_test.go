//go:build unix && !linux

package images_test

// laboratories are the keepers of volumes that the tests run with.
var laboratories = map[string]laboratory{"directory": directories}
