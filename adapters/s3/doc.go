// Package s3 fetches objects into files: Store from any S3-compatible endpoint, Directory from
// local directories. Both implement object.Objects, and one conformance suite tests them.
//
// # What it guarantees
//
// The file at path is complete or does not exist, and it is on the disk when Fetch returns. Its
// checksum is that of the bytes that were written. The file is one version of the object: Store
// requests every part with If-Match and the ETag of the first answer. After an error the file
// temp does not exist. Fetch returns the SHA-256 that the object was stored with, by the endpoint
// or as metadata "sha256", and does not compare it.
//
// # What it needs
//
// Store needs the permission s3:GetObject, which covers HEAD and GET. Without s3:ListBucket an
// endpoint answers 403 for a key that does not exist, and Fetch returns ErrDenied. Store sends no
// other request. It reads no configuration file and no environment variable.
package s3
