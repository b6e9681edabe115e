package crash

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"time"

	"github.com/fsmgen/fsmgen/proptest/crash/scenarios"
	"github.com/fsmgen/fsmgen/runtime/engine"
)

// plan is what child processes have to do.
type plan struct {
	Params    map[string]json.RawMessage `json:"params"` // by machine
	Record    bool                       `json:"record"` // note every point that is passed
	Scenarios []scenario                 `json:"scenarios"`
}

// scenario is one life in the database. Its tag is the correlation id of all
// that comes of it.
type scenario struct {
	Tag    string           `json:"tag"`
	Life   int              `json:"life"` // its number among those of the story
	Name   string           `json:"name"` // of the life
	Script scenarios.Script `json:"script"`
	Cut    *Cut             `json:"cut,omitempty"`
	Window string           `json:"window,omitempty"`
}

func planFile(dir string) string { return filepath.Join(dir, "plan.json") }

func (p plan) store(dir string) error {
	text, err := json.Marshal(p)
	if err == nil {
		err = os.WriteFile(planFile(dir), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("store the plan: %w", err)
	}
	return nil
}

func readPlan(dir string) (p plan, err error) {
	text, err := os.ReadFile(planFile(dir))
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("read the plan: %w", err)
	}
	return p, nil
}

// live is what a child process does: it lives the lives of the plan in dir,
// goes on with one that a process before it did not end, and kills itself where
// the plan says so. It returns when nothing is left to do.
func live[Tx any](ctx context.Context, db Database[Tx], subject Subject, dir string) (err error) {
	p, err := readPlan(dir)
	if err != nil {
		return err
	}
	s, closeStage, err := openStage(ctx, db, subject, p, dir, &cutter{record: p.Record}, &ownClock{}, engine.Config{Worker: "crash"})
	if err != nil {
		return err
	}
	for _, sc := range p.Scenarios[p.begun(dir):] {
		if err := s.live(ctx, sc); err != nil {
			return err
		}
	}
	return closeStage()
}

// progress is how far the processes have come with the plan.
func (p plan) progress(dir string) string {
	n := p.begun(dir)
	size := int64(0)
	if info, err := os.Stat(diaryFile(dir, p.Scenarios[n].Tag)); err == nil {
		size = info.Size()
	}
	return fmt.Sprint(n, " ", size)
}

// begun returns the number of the last scenario that has begun, since those
// before it have ended.
func (p plan) begun(dir string) int {
	n := sort.Search(len(p.Scenarios), func(i int) bool {
		_, err := os.Stat(diaryFile(dir, p.Scenarios[i].Tag))
		return err != nil
	})
	return max(n-1, 0)
}

// rehearsal is a plan that lives every life once, without a cut.
func (s story) rehearsal() (plan, error) {
	p := plan{Params: s.params, Record: true}
	for i := range s.lives {
		if err := s.add(&p, "r", i, nil, ""); err != nil {
			return p, err
		}
	}
	return p, nil
}

// base is when the first scenario of a plan begins.
var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// add plans a life. Every scenario begins so long before the one that is lived
// before it that no timer which that one leaves is due.
func (s story) add(p *plan, prefix string, life int, cut *Cut, window string) error {
	tag := fmt.Sprintf("%s%04d", prefix, len(p.Scenarios))
	at := base
	if n := len(p.Scenarios); n > 0 {
		at = p.Scenarios[n-1].Script.Epoch.Add(-s.span)
	}
	script, err := s.group.Script(s.lives[life], tag, at)
	if err != nil {
		return fmt.Errorf("scenario %s: %w", tag, err)
	}
	p.Scenarios = append(p.Scenarios, scenario{Tag: tag, Life: life, Name: s.lives[life].Name, Script: script, Cut: cut, Window: window})
	return nil
}

// choose plans a kill in each window: at what was killed least so far, in the
// shortest life. With every, it plans one at each point of each label: each
// transition, each effect.
func (s story) choose(p plan, past map[string][]entry, windows []Window, every bool) (plan, []Window, error) {
	found := map[Window][]entry{}
	lifeOf := map[string]int{}
	for _, sc := range p.Scenarios {
		lifeOf[sc.Tag] = sc.Life
		for _, e := range past[sc.Tag] {
			if e.Entry == passed {
				w := Window{e.Machine, e.Kind, e.Point}
				found[w] = append(found[w], e)
			}
		}
	}
	out := plan{Params: p.Params, Scenarios: slices.Clone(p.Scenarios)}
	var missed []Window
	killed := map[string]int{} // by machine and label
	for _, w := range windows {
		candidates := slices.Clone(found[w])
		slices.SortStableFunc(candidates, func(a, b entry) int {
			return cmp.Or(killed[w.Machine+a.Label]-killed[w.Machine+b.Label], len(past[a.Scenario])-len(past[b.Scenario]))
		})
		taken := map[string]bool{}
		for _, e := range candidates {
			if taken[e.Label] || len(taken) > 0 && !every {
				continue
			}
			taken[e.Label] = true
			killed[w.Machine+e.Label]++
			cut := e.cut()
			if err := s.add(&out, "k", lifeOf[e.Scenario], &cut, w.String()+" of "+e.Label); err != nil {
				return out, missed, err
			}
		}
		if len(candidates) == 0 {
			missed = append(missed, w)
		}
	}
	return out, missed, nil
}

// chooseShared plans a kill for each kind of thing that the workers of a fleet
// do, at points that take turns; with every, at each point. Lives in which a
// handler moves the clock are left out: it would move it for all workers.
func (s story) chooseShared(p plan, past map[string][]entry, every bool) (plan, []Window, error) {
	past = maps.Clone(past)
	for _, sc := range p.Scenarios {
		if movesClock(sc.Script) {
			delete(past, sc.Tag)
		}
	}
	var windows []Window
	turn := 0
	for _, k := range kindsOf(s.group) {
		points := sharedPoints(k)
		if len(points) > 0 && !every {
			points = points[turn%len(points):][:1]
			turn++
		}
		for _, at := range points {
			windows = append(windows, Window{s.name, k, at})
		}
	}
	out, missed, err := s.choose(p, past, windows, false)
	return out, slices.DeleteFunc(windows, func(w Window) bool { return slices.Contains(missed, w) }), err
}

// movesClock reports whether time passes while a handler is at work.
func movesClock(s scenarios.Script) bool {
	for _, r := range s.Replies {
		if r.Meanwhile > 0 {
			return true
		}
	}
	return false
}
