package extract

import (
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
)

// Extract unpacks the archive r into the directory root, which exists. It
// streams: memory does not grow with the size of files. Without an error r was
// read to its end.
//
// After an error what was extracted so far is still there: the archive can't be
// resumed, the caller empties the root and begins again. Errors:
// *RefusedError, ErrFormat, those of r, of the context and of the file system,
// with their errno (syscall.ENOSPC: the disk is full). A Read of r that hangs
// holds Extract up; everything else honours ctx.
//
// Owners are set when the process is root. Otherwise files belong to it, and
// set-user-ID and set-group-ID are left out whatever Options say, for they would
// mean someone else.
func Extract(ctx context.Context, r io.Reader, root string, o Options) (Report, error) {
	o = o.withDefaults()
	c := newChecker(o)
	t, err := openTree(root, c)
	if err != nil {
		return Report{}, fmt.Errorf("extract into %s: %w", root, err)
	}
	defer t.close()
	if err := run(ctx, r, c, t.place); err != nil {
		return c.report, err
	}
	if err := t.finish(); err != nil {
		return c.report, fmt.Errorf("extract into %s: %w", root, err)
	}
	return c.report, nil
}

// Check reads the archive r to its end and checks it as Extract into an empty
// root would, writing nothing. Its errors are those of Extract without those of
// the file system.
func Check(ctx context.Context, r io.Reader, o Options) (Report, error) {
	o = o.withDefaults()
	c := newChecker(o)
	buffer := make([]byte, chunk)
	err := run(ctx, r, c, func(e entry, content io.Reader) error {
		c.report.XattrsLeftOut += int64(len(xattrsOf(e).left))
		for {
			if _, err := content.Read(buffer); errors.Is(err, io.EOF) {
				return nil
			} else if err != nil {
				return err
			}
		}
	})
	return c.report, err
}

// chunk is how much content is moved at once.
const chunk = 256 << 10

// run admits entry after entry and has each placed, with its content.
func run(ctx context.Context, r io.Reader, c *checker, place func(entry, io.Reader) error) error {
	s, err := open(ctx, r, c.o)
	if err != nil {
		return err
	}
	defer s.close()
	archive := tar.NewReader(s)
	content := &content{r: archive, s: s, progress: c.o.Progress}
	last := ""
	for {
		s.headers(true)
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if rule := exceeded(err); rule != "" {
			return &RefusedError{Entry: last, Rule: rule, Limit: c.o.limit(rule)}
		}
		// ErrInsecurePath comes with its header, and the checker finds it.
		if err != nil && !errors.Is(err, tar.ErrInsecurePath) {
			if last == "" {
				return fmt.Errorf("the first header: %w", s.failed(err))
			}
			return fmt.Errorf("the header after entry %q: %w", last, s.failed(err))
		}
		last = h.Name
		s.headers(false)
		e, err := c.admit(h)
		if err != nil {
			return err
		}
		if err := content.place(e, c.o, place); err != nil {
			return err
		}
	}
	switch err := s.end(); {
	case exceeded(err) != "":
		return &RefusedError{Entry: last, Rule: exceeded(err), Limit: c.o.limit(exceeded(err))}
	case err != nil:
		return fmt.Errorf("the end of the archive: %w", s.failed(err))
	}
	c.report.Layout = c.layout()
	return nil
}

// exceeded returns the rule that a stream stopped for; "" for other errors.
func exceeded(err error) Rule {
	for _, x := range []struct {
		err  error
		rule Rule
	}{{errHeader, RuleHeader}, {errHeaders, RuleHeaders}, {errRatio, RuleRatio}, {errTail, RuleTail}} {
		if errors.Is(err, x.err) {
			return x.rule
		}
	}
	return ""
}

// content is what the current entry holds. It tells a reader that failed from
// a disk that did, and reports progress.
type content struct {
	r            io.Reader
	s            *stream
	bytes, files int64
	told         int64 // of bytes, by progress
	progress     func(bytes, files int64)
}

// Read is io.Reader.
func (c *content) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.bytes += int64(n)
	if c.bytes-c.told >= chunk { // a large file has more to tell than its end
		c.tell()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return n, c.s.failed(err)
	}
	return n, err
}

func (c *content) place(e entry, o Options, place func(entry, io.Reader) error) error {
	if err := place(e, c); err != nil {
		if rule := exceeded(err); rule != "" {
			return &RefusedError{Entry: e.header.Name, Rule: rule, Limit: o.limit(rule)}
		}
		var refused *RefusedError
		if errors.As(err, &refused) {
			return err
		}
		return fmt.Errorf("entry %q: %w", e.header.Name, err)
	}
	if e.kind == file {
		c.files++
	}
	c.tell()
	return nil
}

func (c *content) tell() {
	c.told = c.bytes
	c.progress(c.bytes, c.files)
}
