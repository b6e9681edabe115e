package engine

import (
	"slices"
	"testing"
)

// named is a machine of which only the name is asked for.
type named struct {
	Machine[int]
	name string
}

func (n named) Name() string { return n.name }

// layersOf are the layers of a batch of events for the given records, each by its
// place in the batch; room is for how many events they have.
func layersOf(records ...string) (indices [][]int, room int) {
	m := &definition[int]{Machine: named{name: "deal"}}
	var items []item[int]
	for i, id := range records {
		items = append(items, item[int]{i, request[int]{machine: m, id: id}})
	}
	for _, layer := range layers(items) {
		var list []int
		for _, it := range layer {
			list = append(list, it.index)
		}
		indices = append(indices, list)
		room += cap(layer)
	}
	return indices, room
}

// TestLayers: the n-th layer has the n-th event of each record, by record.
func TestLayers(t *testing.T) {
	t.Parallel()
	got, _ := layersOf("b", "a", "b", "c", "b", "a")
	if want := [][]int{{1, 0, 3}, {5, 2}, {4}}; !slices.EqualFunc(got, want, slices.Equal[[]int]) {
		t.Errorf("layers are %v, want %v", got, want)
	}
}

// TestLayersOfOneRecord: a thousand events of a record are a thousand layers of one.
func TestLayersOfOneRecord(t *testing.T) {
	t.Parallel()
	const events = 1000
	got, room := layersOf(make([]string, events)...)
	if len(got) != events || room > 3*events {
		t.Errorf("%d events of one record are %d layers with room for %d", events, len(got), room)
	}
}
