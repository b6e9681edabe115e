package service

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// digest names data by its content.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// pack makes a tar with the given files; each holds its own name.
func pack(names ...string) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, name := range names {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(name))}); err != nil {
			return nil, err
		}
		if _, err := w.Write([]byte(name)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), w.Close()
}

// inspect reads a tar to its end. safe is false when a name leads out of the
// folder it is unpacked in.
func inspect(data []byte) (whole, safe bool) {
	safe = true
	err := each(data, func(h *tar.Header, _ io.Reader) error {
		safe = safe && filepath.IsLocal(h.Name)
		return nil
	})
	return err == nil, safe
}

// extract unpacks a tar into a folder.
func extract(data []byte, folder string) error {
	return each(data, func(h *tar.Header, r io.Reader) error {
		if !filepath.IsLocal(h.Name) {
			return fmt.Errorf("%s leads out of the image", h.Name)
		}
		path := filepath.Join(folder, filepath.FromSlash(h.Name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		content, err := io.ReadAll(r)
		if err != nil {
			return err
		}
		return os.WriteFile(path, content, 0o644)
	})
}

func each(data []byte, f func(*tar.Header, io.Reader) error) error {
	r := tar.NewReader(bytes.NewReader(data))
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = f(h, r)
		}
		if err != nil {
			return err
		}
	}
}

// image packs the image of record n. Of ten one leads out of its folder and one
// lacks etc/.
func image(n int) ([]byte, error) {
	names := []string{"rootfs/" + strings.Repeat("x", n%10) + "init", "etc/hosts", "usr/bin/app", "var/log/app"}
	switch n % 10 {
	case 7:
		names = append(names, "../escape")
	case 8:
		names[1] = "opt/hosts"
	}
	return pack(names...)
}
