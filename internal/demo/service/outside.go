package service

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// Outside stands in for the systems around the service (s3, consul, kafka and so on). Each is a
// folder below Root; a file in it is an object, a registered service, a message or a transfer.
type Outside struct {
	Root    string
	Latency time.Duration // of a call
}

// path is where a system keeps a thing.
func (o Outside) path(system, name string) string {
	return filepath.Join(o.Root, system, filepath.FromSlash(name))
}

// put stores a thing in a system, as a whole or not at all. It is idempotent.
func (o Outside) put(system, name string, data []byte) error {
	path := o.path(system, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	temp, err := os.CreateTemp(filepath.Dir(path), ".put-*")
	if err != nil {
		return err
	}
	_, err = temp.Write(data)
	if err = errors.Join(err, temp.Close()); err == nil {
		err = os.Rename(temp.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temp.Name()))
	}
	return nil
}

func (o Outside) get(system, name string) ([]byte, error) { return os.ReadFile(o.path(system, name)) }

// digest names data by its content.
func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func (o Outside) has(system, name string) bool {
	_, err := os.Stat(o.path(system, name))
	return err == nil
}

// remove takes a thing away; one that is not there is gone already.
func (o Outside) remove(system, name string) error {
	if err := os.Remove(o.path(system, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// send hands a message to a system. The receiver knows it by its key: a repeat
// finds the first one there.
func (o Outside) send(ctx context.Context, system string, d fsm.Dispatch) error {
	if err := o.call(ctx, system, d); err != nil {
		return err
	}
	return o.put(system, d.ID+".json", d.Payload)
}

// call is the way to a system and back: it takes its time, and one call in six
// fails at first, the same ones in every run. Systems that are local to the
// service do not fail.
func (o Outside) call(ctx context.Context, system string, d fsm.Dispatch) error {
	if err := o.work(ctx, 1); err != nil {
		return err
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(d.ID))
	if n := h.Sum32(); n%6 == 0 && d.Attempt <= int(1+n/6%2) {
		return fmt.Errorf("%s is unavailable", system)
	}
	return nil
}

// work takes so many times the latency.
func (o Outside) work(ctx context.Context, times int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Duration(times) * o.Latency):
		return nil
	}
}

// never is a refusal that a repeat would meet again: the message becomes a dead
// letter, or the record hears of it.
func never(format string, args ...any) error {
	return &engine.PermanentError{Err: fmt.Errorf(format, args...)}
}
