package crashtest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// plan is what child processes have to do.
type plan struct {
	Group     string     `json:"group"`
	Record    bool       `json:"record"` // note every point that is passed
	Scenarios []scenario `json:"scenarios"`
}

// scenario is one life in the database. Its tag is the correlation id of all
// that comes of it.
type scenario struct {
	Tag    string `json:"tag"`
	Life   string `json:"life"`
	Cut    *Cut   `json:"cut,omitempty"`
	Window string `json:"window,omitempty"`
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

// Live is what a child process does: it lives the lives of the plan in dir,
// goes on with one that a process before it did not end, and kills itself where
// the plan says so. It returns when nothing is left to do.
func Live[Tx any](ctx context.Context, db Database[Tx], dir string) (err error) {
	p, err := readPlan(dir)
	if err != nil {
		return err
	}
	past, err := readDiary(dir)
	if err != nil {
		return err
	}
	lived := map[string][]entry{}
	for _, e := range past {
		lived[e.Scenario] = append(lived[e.Scenario], e)
	}
	s, closeStage, err := openStage(ctx, db, p, dir)
	if err != nil {
		return err
	}
	for _, sc := range p.Scenarios {
		before := lived[sc.Tag]
		if len(before) > 0 && before[len(before)-1].Entry == ended {
			continue
		}
		if err := s.live(ctx, sc, before); err != nil {
			return err
		}
	}
	return closeStage()
}

// rehearsal is a plan that lives every life once, without a cut.
func rehearsal[Tx any](name string, g group[Tx]) plan {
	p := plan{Group: name, Record: true}
	for i, l := range g.lives {
		p.Scenarios = append(p.Scenarios, scenario{Tag: fmt.Sprintf("r%03d", i), Life: l.name})
	}
	return p
}


// choose plans a kill in each window, at what was killed least so far. With
// every, it plans one at each point of each label: each transition, each
// effect.
func choose(p plan, past []entry, windows []Window, every bool) (plan, []Window) {
	lifeOf := map[string]string{}
	for _, sc := range p.Scenarios {
		lifeOf[sc.Tag] = sc.Life
	}
	found := map[Window][]entry{}
	for _, e := range past {
		if e.Entry == passed {
			w := Window{e.Machine, e.Kind, e.Point}
			found[w] = append(found[w], e)
		}
	}
	out := plan{Group: p.Group, Scenarios: slices.Clone(p.Scenarios)}
	var missed []Window
	killed := map[string]int{} // by machine and label
	taken := map[string]bool{}
	for _, w := range windows {
		candidates := found[w]
		if len(candidates) == 0 {
			missed = append(missed, w)
			continue
		}
		if !every {
			candidates = []entry{slices.MinFunc(candidates, func(a, b entry) int { return killed[w.Machine+a.Label] - killed[w.Machine+b.Label] })}
		}
		for _, e := range candidates {
			window := w.String() + " of " + e.Label
			if taken[window] {
				continue
			}
			taken[window] = true
			killed[w.Machine+e.Label]++
			cut := e.cut()
			out.Scenarios = append(out.Scenarios, scenario{
				Tag: fmt.Sprintf("k%04d", len(out.Scenarios)), Life: lifeOf[e.Scenario], Cut: &cut, Window: window,
			})
		}
	}
	return out, missed
}
