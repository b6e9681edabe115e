package engine_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/engine"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// device is the machine unpack with an outside that answers queries as a test says.
type device struct {
	handling
	query func(n int) (done bool, err error)
	asked *int
	lost  *fsm.Event
}

func (d device) Query(context.Context, fsm.Dispatch) (*fsm.Event, bool, error) {
	*d.asked++
	done, err := d.query(*d.asked)
	if done {
		return &fsm.Event{Name: "DEVICE_READY", Payload: []byte(`{"device_path":"/dev/7"}`)}, true, nil
	}
	return nil, false, err
}

func (d device) LostEvent(string) *fsm.Event { return d.lost }

// TestAQueryThatFailsIsNoFailure plays an effect whose attempts and queries fail. The
// record is told that the effect has failed only after a query has said so.
func TestAQueryThatFailsIsNoFailure(t *testing.T) {
	unreachable := errors.New("the outside can't be reached")
	const queries = 2            // beyond the attempts, of which Config.Retry has one more
	const attempts = queries + 1 // each asks first
	for _, tt := range []struct {
		name  string
		query func(n int) (bool, error)
		lost  *fsm.Event
		state string // of the record
		asked int
		dead  bool
	}{
		{
			name:  "no query is ever answered",
			query: func(int) (bool, error) { return false, unreachable },
			state: "create-device", asked: attempts + queries, dead: true,
		}, {
			name:  "no query is ever answered and the table has a lost event",
			query: func(int) (bool, error) { return false, unreachable },
			lost:  &fsm.Event{Name: "DEVICE_FAILED", Payload: []byte(`{"cause":"unknown"}`)},
			state: "aborted", asked: attempts + queries,
		}, {
			name:  "a query fails permanently",
			query: func(int) (bool, error) { return false, &engine.PermanentError{Err: unreachable} },
			state: "create-device", asked: 1, dead: true,
		}, {
			name:  "the last query says that it has happened",
			query: func(n int) (bool, error) { return n == attempts+queries, unreachable },
			state: "extract-layers", asked: attempts + queries,
		}, {
			name: "the last query says that it has not happened",
			query: func(n int) (bool, error) {
				if n < attempts+queries {
					return false, unreachable
				}
				return false, nil
			},
			state: "aborted", asked: attempts + queries,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			handled, asked := 0, 0
			handle := func(_ context.Context, d fsm.Dispatch) (*fsm.Event, error) {
				switch d.Effect {
				case "check_unpacked":
					return &fsm.Event{Name: "CHECKED", Payload: []byte(`{"device_id":"00000007","row_verified":false,"device_exists":false}`)}, nil
				case "create_device":
					handled++
				}
				return nil, nil
			}
			s.config.Retry = fsm.RetryPolicy{First: time.Second, Attempts: queries}
			m := device{handling{unpack.Define[*sql.Tx](nil, unpack.DefaultParams()), handle}, tt.query, &asked, tt.lost}
			var err error
			if s.engine, err = engine.New[*sql.Tx](s.store, s.config, m, activate.Define[*sql.Tx](nil)); err != nil {
				t.Fatal(err)
			}
			id := fullID("1")
			run, err := fsm.ParseUUID(fullID("d"))
			if err != nil {
				t.Fatal(err)
			}
			_, err = s.engine.Create(t.Context(), "unpack", id, unpack.Start{
				ImageID: "i", DownloadRun: run, LocalPath: "/i", Checksum: "c", PoolName: "p",
			}, engine.Call{By: fsm.System()})
			for n := 0; err == nil && n < 3*(attempts+queries); n++ {
				_, err = s.engine.Step(t.Context())
				s.clock.tick(time.Minute)
			}
			if err != nil {
				t.Fatal(err)
			}
			if found, err := s.engine.Get(t.Context(), "unpack", id); err != nil || found.Record.StateName() != tt.state {
				t.Errorf("the record is %v, %v, want %s", found.Record, err, tt.state)
			}
			letters, err := s.engine.DeadLetters(t.Context(), engine.Filter{Machine: "unpack"}, "", 10)
			if err != nil || (len(letters) == 1) != tt.dead {
				t.Errorf("%d dead letters, %v", len(letters), err)
			}
			if asked != tt.asked || handled != 0 {
				t.Errorf("asked %d times and attempted %d times, want %d and 0", asked, handled, tt.asked)
			}
		})
	}
}
