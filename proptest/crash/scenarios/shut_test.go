package scenarios

import (
	"slices"
	"testing"
)

// TestShut: what a timeout brings by a param opens one row and shuts the other. No other row of the
// project is shut.
func TestShut(t *testing.T) {
	t.Parallel()
	shutRows := func(c *Group) (names []string) {
		for _, m := range c.machines {
			for _, r := range m.Rows {
				if shut(m, r) {
					names = append(names, r.Text)
				}
			}
		}
		return names
	}
	for _, names := range groups {
		var want []string
		if names[0] == "deal" {
			want = []string{"auto_approve"}
		}
		if got := shutRows(load(t, names...)); !slices.Equal(got, want) {
			t.Errorf("%v: shut are %q, want %q", names, got, want)
		}
	}
	c := load(t, "deal")
	for _, p := range c.Proven().Params {
		if p.Text == "silence_as_documented" {
			p.Default = true
		}
	}
	if got, want := shutRows(c), []string{"verifier_silent"}; !slices.Equal(got, want) {
		t.Errorf("with silence that pays: shut are %q, want %q", got, want)
	}
}
