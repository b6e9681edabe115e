package images_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images"
)

// hugeTar is an image with more in it than a pool of the tests can share or leave
// out.
func hugeTar(t *testing.T, bytesInIt int) []byte {
	t.Helper()
	content := make([]byte, bytesInIt)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(content) // never fails
	var b bytes.Buffer
	b.Write(bytes.TrimRight(imageTar(t, 1), "\x00")) // an archive ends with zeros
	b.Write(make([]byte, (512-b.Len()%512)%512))
	w := tar.NewWriter(&b)
	err := w.WriteHeader(&tar.Header{Name: "var/big", Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(content))})
	if err == nil {
		_, err = w.Write(content)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// testPoolFull: the pool is full in the middle of an extraction, whose writes the
// kernel had taken. The run ends, its volume is gone, and the pool serves others.
func testPoolFull(t *testing.T) {
	dir := t.TempDir()
	makePoolOf(t, dir, 4<<20)
	put(t, dir, "big.tar", hugeTar(t, 6<<20))
	put(t, dir, "a.tar", imageTar(t, 1))
	s, _ := watched(t, pooled, dir)
	works(t, s)
	_, err := s.Process(t.Context(), "images", "big.tar")
	t.Log(err)
	aborted(t, err, "unpack", "extract_failed")
	for _, want := range []string{images.ErrFull.Error(), "make room"} {
		if err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
	settled(t, dir)
	stand(t, pooled, dir, t.Errorf)
	if l := list(t, s); l[0].Download != "completed" || l[0].Unpacked {
		t.Errorf("the status is %+v", l)
	}
	process(t, s, "a.tar")
	stand(t, pooled, dir, t.Errorf)
}

// testPoolFullForSnapshot: what the pool can't share it can't snapshot.
func testPoolFullForSnapshot(t *testing.T) {
	work := newErrand(t, pooled)
	work.dies(t, "before handle activate.create_snapshot")
	const filler = 4711
	fill(t, filler)
	s, _ := watched(t, pooled, work.Dir)
	works(t, s)
	_, err := s.Process(t.Context(), "images", "a.tar")
	t.Log(err)
	aborted(t, err, "activate", "pool_full")
	if l := list(t, s); l[0].Activation != "failed" || !l[0].Unpacked {
		t.Errorf("the status is %+v", l)
	}
	if left := numbers(t, work.Dir); len(left) != 1 {
		t.Errorf("numbers are given to %v, want the volume only", left)
	}
	dmsetup(t, "message", "pool", "0", fmt.Sprintf("delete %d", filler))
	process(t, s, "a.tar")
	stand(t, pooled, work.Dir, t.Errorf)
}

// fill makes a thin device that takes all the room there is.
func fill(t *testing.T, number int) {
	t.Helper()
	dmsetup(t, "message", "pool", "0", fmt.Sprintf("create_thin %d", number))
	dmsetup(t, "create", "filler", "--table", fmt.Sprintf("0 %d thin /dev/mapper/pool %d", 2*poolBytes/512, number))
	file, err := os.OpenFile("/dev/mapper/filler", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	chunk := bytes.Repeat([]byte{1}, 1<<20)
	for written := 0; written < 2*poolBytes && err == nil; written += len(chunk) {
		if _, err = file.Write(chunk); err == nil {
			err = file.Sync()
		}
	}
	if err == nil {
		t.Fatal("the pool has room without end")
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	dmsetup(t, "remove", "filler")
}

// testDeviceBusy: what is to be destroyed is in use. The run waits for a person,
// and destroys nothing meanwhile.
func testDeviceBusy(t *testing.T) {
	work := newErrand(t, pooled)
	work.dies(t, "within extract")
	mounts, err := filepath.Glob(filepath.Join(work.Dir, "mounts", "*"))
	if err != nil || len(mounts) != 1 {
		t.Fatalf("mounted are %q: %v", mounts, err)
	}
	user, err := os.Create(filepath.Join(mounts[0], "in-use"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := watched(t, pooled, work.Dir)
	works(t, s)
	_, err = s.Process(t.Context(), "images", "a.tar")
	t.Log(err)
	var stuck *images.StuckError
	if !errors.As(err, &stuck) || stuck.Effect != "destroy_device" || !strings.Contains(stuck.LastError, images.ErrBusy.Error()) {
		t.Fatalf("it ended with %v", err)
	}
	if l := list(t, s); l[0].Stuck != "destroy_device" {
		t.Errorf("the status is %+v", l)
	}
	if err := user.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Retry(t.Context(), stuck.RunID, "a person", "the file was closed"); err != nil {
		t.Fatal(err)
	}
	judge(t, pooled, work.Dir, "a device that was busy", process(t, s, "a.tar"))
}

// testCollection: what the pool has and nothing names is collected unless it is
// active, and so is a number without a device; a row without one is told.
func testCollection(t *testing.T) {
	work := newErrand(t, pooled)
	work.succeeds(t)
	for _, number := range []int{4711, 4712} {
		dmsetup(t, "message", "pool", "0", fmt.Sprintf("create_thin %d", number))
	}
	dmsetup(t, "create", "foreign", "--table", "0 8 thin /dev/mapper/pool 4712")
	if _, err := database(t, work.Dir).Exec("INSERT INTO volume_numbers VALUES ('thin-0badcafe', 5)"); err != nil {
		t.Fatal(err)
	}
	snapshot := snapshotOf(t, work.Dir)
	erase(t, work.Dir, func(name string) bool { return name == snapshot })
	s, _ := watched(t, pooled, work.Dir)
	collects(t, s, images.Collected{Volumes: []string{"thin-0badcafe", "number-4711"}, InUse: []string{"number-4712"}, Missing: []string{snapshot}})
	dmsetup(t, "remove", "foreign")
	collects(t, s, images.Collected{Volumes: []string{"number-4712"}, Missing: []string{snapshot}})
	works(t, s)
	judge(t, pooled, work.Dir, "a collection", process(t, s, "a.tar"))
}

func collects(t *testing.T, s *images.Service, want images.Collected) {
	t.Helper()
	got, err := s.GC(t.Context())
	if err != nil || !slices.Equal(got.Volumes, want.Volumes) || !slices.Equal(got.InUse, want.InUse) || !slices.Equal(got.Missing, want.Missing) {
		t.Errorf("it collected %+v, want %+v: %v", got, want, err)
	}
}

// testNumbersCollide: a process dies after it reserved a number and before it
// used it; another image, which wants the same, has the next one. The first goes
// on with its own.
func testNumbersCollide(t *testing.T) {
	_, one := preferred(firstNumber)
	if _, two := preferred(secondNumber); one != two {
		t.Fatalf("the devices want the numbers %d and %d, both should want one", one, two)
	}
	dir := place(t, pooled)
	put(t, dir, firstNumber, imageTar(t, 1))
	put(t, dir, secondNumber, imageTar(t, 2))
	work := errand{Dir: dir, Lab: pooled, Bucket: "images", Key: firstNumber}
	work.dies(t, "keeper: message 3") // create_thin
	first, _ := preferred(firstNumber)
	if got := numbers(t, dir); len(got) != 1 || got["thin-"+first] != one {
		t.Fatalf("the numbers are %v, want %d", got, one)
	}
	work.Key = secondNumber
	work.succeeds(t)
	work.Key = firstNumber
	work.succeeds(t)
	second, _ := preferred(secondNumber)
	if got := numbers(t, dir); got["thin-"+first] != one || got["thin-"+second] != one+1 {
		t.Errorf("the numbers are %v, want %d and %d", got, one, one+1)
	}
	stand(t, pooled, dir, t.Errorf)
}
