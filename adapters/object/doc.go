// Package object is the interface to an object store from which files are fetched: [Objects].
// Package adapters/s3 implements it for S3-compatible endpoints and for local directories.
//
// The package knows no service of this repository.
package object
