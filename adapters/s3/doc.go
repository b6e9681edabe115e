// Package s3 fetches objects into files: Store from any S3-compatible endpoint, Directory from
// local directories. Both implement object.Objects, and one conformance suite tests them.
//
// What a caller can rely on: the file at path is either not there or whole, and
// it is on the disk, not only in the kernel's memory, when Fetch returns. Its
// checksum was computed over the bytes that were written. It is one version of
// the object: Store asks for every part of it with If-Match on the ETag of the
// first answer. After an error temp is gone. The SHA-256 that an object was
// stored with, by the endpoint or as metadata "sha256", is told and not compared.
//
// Store needs the permission s3:GetObject, which covers HEAD and GET. Without
// s3:ListBucket an endpoint answers 403 for a key that does not exist; that is
// reported as ErrDenied and says so. Store makes no other call, reads no
// configuration file and no environment variable.
package s3
