package httpapi

import (
	"os"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/ir"
	"github.com/fsmgen/fsmgen/generated/deal"
)

// TestOffered: the API offers what the table lets others than the system fire, and a creation has its
// own path.
func TestOffered(t *testing.T) {
	t.Parallel()
	machines, _, err := gen.Load(tables(t, "deal", "transfer"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range machines {
		if m.Text != deal.MachineName {
			continue
		}
		for _, e := range m.Events {
			want := e.Text != deal.EventCreate.String() && !e.Internal &&
				slices.ContainsFunc(e.By, func(a *ir.Actor) bool { return !a.System })
			event, err := deal.ParseEvent(e.Text)
			if err != nil || forCallers(event) != want {
				t.Errorf("%s: offered %t, want %t; %v", e.Text, forCallers(event), want, err)
			}
		}
	}
}

func tables(t *testing.T, names ...string) (sources []gen.Source) {
	t.Helper()
	for _, name := range names {
		path := "../../../spec/" + name + ".yaml"
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sources = append(sources, gen.Source{Path: path, Data: text})
	}
	return sources
}
