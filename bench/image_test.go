package bench

import (
	"archive/tar"
	"bufio"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// writeImage writes a tar with the layout of document 002 and so many files of
// differing sizes, which are so many bytes together, give or take a few.
func writeImage(name string, files int, bytes int64) (err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	buffered := bufio.NewWriterSize(f, 1<<20)
	w := tar.NewWriter(buffered)
	for _, dir := range []string{"rootfs/", "etc/", "usr/", "var/"} {
		if err := w.WriteHeader(&tar.Header{Name: dir, Typeflag: tar.TypeDir, Mode: 0o755}); err != nil {
			return err
		}
	}
	if err := fillImage(w, files, bytes); err != nil {
		return err
	}
	return errors.Join(w.Close(), buffered.Flush())
}

// fillImage puts forty files into a folder, and fifty folders into another.
func fillImage(w *tar.Writer, files int, bytes int64) error {
	random := rand.New(rand.NewPCG(1, 2))
	average := bytes / int64(files)
	content := make([]byte, 2*average)
	for i := range content {
		content[i] = "0123456789abcdefghijklmnopqrstuvwxyz \n"[random.IntN(38)]
	}
	for i := range files {
		size := average/4 + random.Int64N(average*3/2+1)
		h := tar.Header{Name: fmt.Sprintf("usr/share/d%02d/e%02d/file-%05d", i/2000, i/40%50, i), Typeflag: tar.TypeReg, Mode: 0o644, Size: size}
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		if _, err := w.Write(content[:size]); err != nil {
			return err
		}
	}
	return nil
}
