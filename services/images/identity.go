package images

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"
)

// ImageID returns the id of an object's image: the readable part of the last
// component of its key, and the first 128 bits of the SHA-256 of bucket and key
// in hex. An object always has the same id (document 002 leaves it to the
// caller: F-002-30). An id whose rows are about another object is refused: see
// ErrIDTaken.
func ImageID(bucket, key string) string {
	const bytes = 16 // fewer can be searched for collisions
	sum := sha256.Sum256([]byte(bucket + "\x00" + key))
	return strings.Trim(slug(path.Base(key))+"-"+hex.EncodeToString(sum[:bytes]), "-")
}

// slug keeps what a name of a volume may have of a text.
func slug(text string) string {
	const longest = 40
	var b strings.Builder
	for _, c := range strings.ToLower(text) {
		switch {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9':
			b.WriteRune(c)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == longest {
			break
		}
	}
	return strings.Trim(b.String(), "-")
}

// deviceID is the id that an image wants for its device: hash(image_id)[0:8]
// (document 002, Deterministic Device Identity), the hash being SHA-256. Eight
// hex digits are 32 bits, and hashes collide: an image that comes second to an
// id takes the next of its own, n counting from 0. Which one it got is kept in
// the table image_devices, so every run of an image gets the same again.
func deviceID(image string, n int) string {
	if n > 0 {
		image = fmt.Sprintf("%s\x00%d", image, n)
	}
	sum := sha256.Sum256([]byte(image))
	return hex.EncodeToString(sum[:4])
}

// preferredNumber is where the search for a device's number begins: 24 bits of
// the hash of its name.
func preferredNumber(name string) uint32 {
	sum := sha256.Sum256([]byte(name))
	return uint32(sum[0])<<16 | uint32(sum[1])<<8 | uint32(sum[2])
}
