package scenarios

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsmgen/fsmgen/gen/ir"
)

const specs = "../../../spec"

// groups are the machines of the project with those that they need.
var groups = [][]string{
	{"upload"}, {"publish"}, {"outbox"}, {"gc"}, {"registration"}, {"wal"}, {"deal"},
	{"download", "unpack", "activate"}, {"unpack", "activate", "download"}, {"activate", "unpack", "download"},
}

func load(t *testing.T, names ...string) *Group {
	t.Helper()
	c, err := Load(specs, names...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestEveryTransitionHasAScenario: the search finds whatever can be taken while
// everything due is delivered at once. What it does not find is known by name.
func TestEveryTransitionHasAScenario(t *testing.T) {
	known := map[string]string{
		// No record comes there with Consul alone; a checkpoint that is left in its
		// own transaction has no time to fail.
		"registration": "retry_postgres from partial_registered, global_error_handler from postgres_registered",
		"wal":          "recover_stale_claim from in_progress", // the deadline of the claim is always earlier
		"deal":         "auto_approve from DELIVERY_VERIFYING", // silence pays where a param says so
		"unpack":       "extract_lost from extract-layers",     // a kill makes it: see package crash
	}
	for _, names := range groups {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			c := load(t, names...)
			found, missing, _ := c.Search()
			var list []string
			for _, r := range missing {
				list = append(list, r.Text+" from "+r.From.Text)
			}
			if got := strings.Join(list, ", "); got != known[names[0]] {
				t.Errorf("no scenario takes %q, want %q", got, known[names[0]])
			}
			taken := map[*ir.Row]bool{}
			for _, s := range found {
				for _, r := range s.Takes {
					taken[r] = true
				}
			}
			for _, r := range c.Proven().Rows {
				if r.Reject == nil && !taken[r] && !slices.Contains(missing, r) {
					t.Errorf("%s is said to be taken, and no scenario takes it", r)
				}
			}
		})
	}
}

// TestTheSameTableGivesTheSameScenarios: a child that is killed is told what its
// predecessor was.
func TestTheSameTableGivesTheSameScenarios(t *testing.T) {
	text := func() string {
		c := load(t, "unpack", "activate", "download")
		found, _, _ := c.Search()
		var out []Script
		for _, s := range c.Vary(found) {
			s, err := c.Script(s, "tag", epoch)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, s)
		}
		text, err := json.Marshal(out)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if a, b := text(), text(); a != b {
		t.Error("two searches find different scenarios")
	}
}

// TestScriptsShareNothingUnique: two scripts of a scenario differ in whatever has to
// be unique, and in their times by as much as they begin apart.
func TestScriptsShareNothingUnique(t *testing.T) {
	c := load(t, "upload")
	found, _, _ := c.Search()
	s := found[slices.IndexFunc(found, func(s Scenario) bool { return s.Name == "commit_verified" })]
	script := func(tag string, at time.Time) Script {
		s, err := c.Script(s, tag, at)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	payload := func(s Script, i int) (out struct {
		ExpiresAt              time.Time `json:"expires_at"`
		ExpectedDigest, Digest string
	}) {
		if err := json.Unmarshal(s.Steps[i].Event.Payload, &out); err != nil {
			t.Fatal(err)
		}
		return out
	}
	a, b := script("a", epoch), script("b", epoch.Add(-time.Hour))
	last := len(a.Steps) - 1
	if a.Steps[0].Record == b.Steps[0].Record || payload(a, last).Digest == payload(b, last).Digest {
		t.Errorf("two scripts share an id or a text: %+v, %+v", a.Steps, b.Steps)
	}
	if got := payload(a, 0).ExpiresAt.Sub(payload(b, 0).ExpiresAt); got != time.Hour {
		t.Errorf("the times of scripts that begin an hour apart are %s apart", got)
	}
	if _, err := c.Script(s, "c", time.Time{}); err == nil {
		t.Error("a scenario begins before the calendar")
	}
}

// TestTheModelKnowsReferences: a row that refers to one of another machine comes
// after that.
func TestTheModelKnowsReferences(t *testing.T) {
	c := load(t, "unpack", "activate", "download")
	found, _, _ := c.Search()
	for _, s := range found {
		if slices.ContainsFunc(s.Takes, func(r *ir.Row) bool { return r.Text == "stored" }) {
			if _, ok := s.replies[Asked{"download", "validate_file", 3}]; !ok {
				t.Errorf("scenario %s stores what was not downloaded", s.Name)
			}
		}
	}
}

// TestVary: every effect whose handler may fail fails, in every way that it may.
func TestVary(t *testing.T) {
	for _, names := range groups {
		t.Run(names[0], func(t *testing.T) {
			t.Parallel()
			c := load(t, names...)
			found, _, _ := c.Search()
			all := c.Vary(found)
			asked := map[*ir.Effect]bool{}
			ways := map[*ir.Effect]map[string]bool{}
			for _, s := range all {
				for _, d := range s.asks {
					if d.machine != 0 {
						continue
					}
					if asked[d.effect] = true; ways[d.effect] == nil {
						ways[d.effect] = map[string]bool{}
					}
					r := s.replies[c.asked(d.job)]
					for way, is := range map[string]bool{"once": r.fails > 0, "until repaired": r.stuck, "for good": r.broken, "late": r.meanwhile > 0} {
						ways[d.effect][way] = ways[d.effect][way] || is
					}
				}
			}
			for e := range asked {
				for way, want := range map[string]bool{"once": Repeats(e), "until repaired": e.Fails == nil, "for good": e.Fails != nil} {
					if ways[e][way] != want {
						t.Errorf("%s fails %s: %t, want %t", e, way, ways[e][way], want)
					}
				}
			}
			if names[0] == "unpack" && !slices.ContainsFunc(c.Proven().Effects, func(e *ir.Effect) bool { return ways[e]["late"] }) {
				t.Error("no handler of unpack takes longer than its timer")
			}
		})
	}
}

// TestAMissingMachineIsAnError: a group names machines of its folder.
func TestAMissingMachineIsAnError(t *testing.T) {
	if _, err := Load(specs, "missing"); err == nil {
		t.Error("a missing machine is loaded")
	}
}
