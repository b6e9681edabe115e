package fsm_test

import (
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

func TestKeyOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ key, payload, want, problem string }{
		{"lock:deal:{deal_id}:transition", `{"deal_id":"5f0c3a0e","amount":7}`, "lock:deal:5f0c3a0e:transition", ""},
		{"{owner}/{amount}", `{"owner":8,"amount":-7}`, "8/-7", ""},
		{"fixed", `{}`, "fixed", ""},
		{"{a}", `{"a":"{b}","b":"x"}`, "{b}", ""},
		{"{a}", `{"b":1}`, "", "the payload has no a"},
		{"{a}", `{"a":null}`, "", "the payload has no a"},
		{"{a}", `{`, "", `lock "{a}"`},
	} {
		got, err := fsm.Lock{Key: tt.key, TTL: time.Second}.KeyOf([]byte(tt.payload))
		if tt.problem == "" && (err != nil || got != tt.want) {
			t.Errorf("%s of %s is %q, %v; want %q", tt.key, tt.payload, got, err, tt.want)
		}
		if tt.problem != "" && (err == nil || !strings.Contains(err.Error(), tt.problem)) {
			t.Errorf("%s of %s: got %v, want %s", tt.key, tt.payload, err, tt.problem)
		}
	}
}
