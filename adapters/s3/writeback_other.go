//go:build !linux

package s3

import "os"

// writeBack is a hint that there is no call for here.
func writeBack(*os.File, int64, int64) {}
