package golang_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/generated/activate"
	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/generated/unpack"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// unpackHandlers answers from a script.
type unpackHandlers struct {
	unpack.Handlers[string]
	ready unpack.CreateDeviceAnswer
	done  bool
	err   error
	saw   unpack.CreateDeviceEffect
}

func (h *unpackHandlers) CreateDevice(_ context.Context, _ fsm.Dispatch, e unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, error) {
	h.saw = e
	return h.ready, h.err
}

func (h *unpackHandlers) QueryCreateDevice(context.Context, fsm.Dispatch, unpack.CreateDeviceEffect) (unpack.CreateDeviceAnswer, bool, error) {
	return h.ready, h.done, h.err
}

func (h *unpackHandlers) DestroyDevice(context.Context, fsm.Dispatch, unpack.DestroyDeviceEffect) error {
	return h.err
}

func TestHandlersAnswer(t *testing.T) {
	h := &unpackHandlers{}
	m := unpack.Define[string](h, unpack.DefaultParams())
	ctx := context.Background()
	d := fsm.Dispatch{Machine: "unpack", Effect: "create_device", Payload: json.RawMessage(`{"pool_name":"p","device_id":"d","device_name":"n"}`)}
	h.ready, h.done = unpack.DeviceReady{DevicePath: "/dev/x"}, true
	want := eventOf(t, h.ready)
	got, err := m.Handle(ctx, d)
	if err != nil || !reflect.DeepEqual(*got, want) {
		t.Fatalf("answer %v, %v", got, err)
	}
	if h.saw.PoolName != "p" || h.saw.DeviceID.V != "d" || h.saw.DeviceName.V != "n" {
		t.Errorf("the handler saw %+v", h.saw)
	}
	if got, done, err := m.Query(ctx, d); err != nil || !done || !reflect.DeepEqual(*got, want) {
		t.Errorf("query %v, %v, %v", got, done, err)
	}
	for _, none := range []unpack.CreateDeviceAnswer{nil, &unpack.DeviceReady{DevicePath: "/dev/x"}, (*unpack.DeviceReady)(nil)} {
		h.ready = none
		if got, err := m.Handle(ctx, d); err == nil || got != nil {
			t.Errorf("answer %T: %v, %v", none, got, err)
		}
		if got, done, err := m.Query(ctx, d); err == nil || done || got != nil {
			t.Errorf("query %T: %v, %v, %v", none, got, done, err)
		}
	}
	h.done = false
	if got, done, err := m.Query(ctx, d); err != nil || done || got != nil {
		t.Errorf("not done: %v, %v, %v", got, done, err)
	}
	h.err = errors.New("no disk")
	if got, err := m.Handle(ctx, d); !errors.Is(err, h.err) || got != nil {
		t.Errorf("error: %v, %v", got, err)
	}
	d.Effect = "destroy_device"
	if got, err := m.Handle(ctx, d); !errors.Is(err, h.err) || got != nil {
		t.Errorf("message: %v, %v", got, err)
	}
	h.err = nil
	if got, err := m.Handle(ctx, d); err != nil || got != nil {
		t.Errorf("message: %v, %v", got, err)
	}
}

// registrationHandlers says something else than the spec binds.
type registrationHandlers struct {
	registration.Handlers[string]
	answer registration.PostgresUpsertRegistrationAnswer
}

func (h registrationHandlers) PostgresUpsertRegistration(context.Context, fsm.Dispatch, registration.PostgresUpsertRegistrationEffect) (registration.PostgresUpsertRegistrationAnswer, error) {
	return h.answer, nil
}

func TestBoundFieldsAreSetWhateverTheHandlerSays(t *testing.T) {
	failed := registration.PostgresFailed{PostgresApplied: true, PostgresError: "down", ErrorType: registration.FailureTypeUnavailable}
	m := registration.Define[string](registrationHandlers{answer: failed}, registration.DefaultParams())
	got, err := m.Handle(context.Background(), fsm.Dispatch{
		Effect: "postgres.upsert_registration", Payload: []byte(`{"registration_id":"00000000-0000-4000-8000-000000000001","node_id":"n"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	failed.PostgresApplied = false
	if want := eventOf(t, failed); !reflect.DeepEqual(*got, want) {
		t.Errorf("got %s, want %s", got.Payload, want.Payload)
	}
}

// TestFailuresAreAccepted demands that what FailEvent and LostEvent return is a
// payload that the machine can read, whatever the message.
func TestFailuresAreAccepted(t *testing.T) {
	m := unpack.Define[string](nil, unpack.DefaultParams())
	for _, message := range []string{"no disk", "", "\xff\x00", strings.Repeat("é", 10000)} {
		e := m.FailEvent("create_device", message)
		p, err := unpack.DecodeEvent(e.Name, e.Payload)
		if failed, ok := p.(unpack.DeviceFailed); err != nil || !ok || failed.Cause == "" {
			t.Errorf("%.10q: %v, %v", message, p, err)
		}
	}
	if e := m.LostEvent("extract_layers"); e == nil || e.Name != "EXTRACT_LOST" || string(e.Payload) != "{}" {
		t.Errorf("lost: %v", e)
	}
}

// TestEffectsAsData follows an unpacking through its last steps: the table row,
// the machine that is started, the cleanup.
func TestEffectsAsData(t *testing.T) {
	m := unpack.Define[string](nil, unpack.DefaultParams())
	r := &unpack.Record{RunID: fsm.UUID{1}, State: unpack.UpdateDB, ImageID: "i", DownloadRun: fsm.UUID{2}, LocalPath: "/i", Checksum: "c", PoolName: "p",
		DeviceID: fsm.Some("01234567"), DevicePath: fsm.Some("/dev/x")}
	d, err := m.Fire(r, eventOf(t, unpack.Unmounted{}), fsm.Input{Now: start})
	if err != nil || len(d.Steps) != 1 || !d.Steps[0].Terminal {
		t.Fatalf("%+v, %v", d, err)
	}
	effects := map[string]fsm.Effect{}
	for _, e := range d.Steps[0].Effects {
		effects[e.Name] = e
	}
	write, err := m.TableWrite(effects["unpacked_row"])
	want := fsm.TableWrite{Table: "unpacked_images", Op: fsm.EffectUpsert, Key: []fsm.Column{{Name: "image_id", Value: "i"}},
		Columns: []fsm.Column{
			{Name: "device_id", Value: "01234567"}, {Name: "device_name", Value: "thin-01234567"},
			{Name: "checksum", Value: "c"}, {Name: "download_run", Value: fsm.UUID{2}.String()},
			{Name: "layout_verified", Value: true}, {Name: "unpacked_at", Value: start},
		}}
	if err != nil || !reflect.DeepEqual(write, want) {
		t.Errorf("write %+v, %v", write, err)
	}
	child, err := m.StartOf(effects["start_activate"])
	if err != nil || child.Machine != "activate" {
		t.Fatal(child, err)
	}
	if _, err := activate.Define[string](nil).Create(otherID, child.Event, fsm.Input{Now: start}); err != nil {
		t.Errorf("the started machine refuses its creation: %v", err)
	}
	if _, err := m.TableWrite(effects["start_activate"]); err == nil {
		t.Error("a start is no table write")
	}
	if _, err := m.StartOf(effects["unpacked_row"]); err == nil {
		t.Error("a table write is no start")
	}
	cleanup, ok := m.CleanupOf("create_device", r, start)
	if payload, is := cleanup.Payload.(unpack.DestroyDeviceEffect); !ok || !is || payload.PoolName != "p" || cleanup.Name != "destroy_device" {
		t.Errorf("cleanup %+v, %v", cleanup, ok)
	}
	if _, ok := m.CleanupOf("extract_layers", r, start); ok {
		t.Error("extract_layers has no cleanup")
	}
}

// TestIncompleteHandlersDoNotCompile demands the compiler's refusal of a handler
// that is missing and of an answer that the effect does not have.
func TestIncompleteHandlersDoNotCompile(t *testing.T) {
	dir := module(t, load(t, specs(t)...))
	const head = "package user\n\nimport (\n\t\"example.com/machines/unpack\"\n)\n\n"
	for name, tt := range map[string]struct{ code, complaint string }{
		"complete":  {"type all struct{ unpack.Handlers[int] }\n\nvar _ = unpack.Define[int](all{}, unpack.Params{})\n", ""},
		"left out":  {"type none struct{}\n\nvar _ = unpack.Define[int](none{}, unpack.Params{})\n", "missing method CheckUnpacked"},
		"its event": {"var _ unpack.CreateDeviceAnswer = unpack.DeviceReady{}\n", ""},
		"foreign":   {"var _ unpack.CreateDeviceAnswer = unpack.Extracted{}\n", "missing method answersCreateDevice"},
	} {
		path := filepath.Join(dir, "user/user.go")
		write(t, path, []byte(head+tt.code))
		out, err := goTool(t, dir, "build", "./user")
		if tt.complaint == "" && err != nil || tt.complaint != "" && (err == nil || !strings.Contains(out, tt.complaint)) {
			t.Errorf("%s: the compiler says %v: %s", name, err, out)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}
