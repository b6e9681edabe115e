package devicemapper

import (
	"errors"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/volume"
)

func TestPoolStatus(t *testing.T) {
	for _, c := range []struct {
		text     string
		want     poolStatus
		full, ok bool
	}{
		{"1 12/1024 3/512 - rw discard_passdown error_if_no_space - 256", poolStatus{12, 1024, 3, 512, "rw", false, 0}, false, true},
		{"1 12/1024 512/512 - out_of_data_space discard_passdown error_if_no_space - 256", poolStatus{12, 1024, 512, 512, "out_of_data_space", false, 0}, true, false},
		{"1 12/1024 512/512 - rw discard_passdown error_if_no_space - 256", poolStatus{12, 1024, 512, 512, "rw", false, 0}, true, false},
		{"1 1024/1024 3/512 - rw discard_passdown error_if_no_space - 256", poolStatus{1024, 1024, 3, 512, "rw", false, 0}, true, false},
		{"1 12/1024 3/512 - ro discard_passdown error_if_no_space needs_check 256", poolStatus{12, 1024, 3, 512, "ro", true, 0}, false, false},
		{"1 12/1024 3/512 - ro discard_passdown error_if_no_space - 256", poolStatus{12, 1024, 3, 512, "ro", false, 0}, false, false},
		{"1 12/1024 3/512 77 rw discard_passdown error_if_no_space - 256", poolStatus{12, 1024, 3, 512, "rw", false, 77}, false, true},
		{"Fail", poolStatus{mode: "Fail"}, false, false},
	} {
		got, err := parsePoolStatus(c.text)
		if err != nil || got != c.want {
			t.Errorf("%q is %+v, %v", c.text, got, err)
		}
		if err := got.writable("pool"); (err == nil) != c.ok || errors.Is(err, volume.ErrFull) != c.full {
			t.Errorf("%q: %v", c.text, err)
		}
	}
	for _, text := range []string{"", "Error", "1 2 3", "1 a/b 3/512 - rw", "1 1/2 3 - rw", "1 1/2 3/4 x rw"} {
		if got, err := parsePoolStatus(text); err == nil {
			t.Errorf("%q is %+v", text, got)
		}
	}
}

func TestThin(t *testing.T) {
	if pool, number, err := parseThinTable("253:0 16777215"); err != nil || pool != "253:0" || number != MaxNumber {
		t.Errorf("the table is %s, %d, %v", pool, number, err)
	}
	for _, text := range []string{"", "253:0", "253:0 16777216", "253:0 x"} {
		if _, number, err := parseThinTable(text); err == nil {
			t.Errorf("%q names %d", text, number)
		}
	}
	if mapped, err := parseThinStatus("2048 65535"); err != nil || mapped != 1<<20 {
		t.Errorf("mapped are %d, %v", mapped, err)
	}
	if mapped, err := parseThinStatus("Fail"); err == nil {
		t.Errorf("mapped are %d", mapped)
	}
}
