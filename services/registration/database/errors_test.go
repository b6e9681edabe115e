package database

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// TestRecordsKeepNoWordsOfDrivers: what a driver says stays in the log.
func TestRecordsKeepNoWordsOfDrivers(t *testing.T) {
	cause := errors.New(`INSERT INTO secrets: user=fsm host=10.0.0.7`)
	if text := Message(fmt.Errorf("%w: %w", discovery.ErrServer, cause)); text != "server error" {
		t.Errorf("the record says %q", text)
	}
}
