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
	Params map[string]json.RawMessage `json:"params"` // by machine
	Record bool                       `json:"record"` // note every point that is passed
	Runs   []plannedRun               `json:"runs"`
}

// plannedRun is one run of a scenario in the database. Its tag is the correlation id of
// everything in it.
type plannedRun struct {
	Tag      string           `json:"tag"`
	Scenario int              `json:"scenario"` // its index in the scenarioSet
	Name     string           `json:"name"`     // of the scenario
	Script   scenarios.Script `json:"script"`
	Kill     *Hit             `json:"kill,omitempty"`
	Window   string           `json:"window,omitempty"`
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

// runScenarios is the main function of a child process. It runs the scenarios of the plan
// in dir, resumes the one that the last process did not end, and kills itself where the
// plan says so. It returns when nothing is left to do.
func runScenarios[Tx any](ctx context.Context, db Database[Tx], subject Subject, dir string) (err error) {
	p, err := readPlan(dir)
	if err != nil {
		return err
	}
	w, closeProcess, err := openWorkerProcess(ctx, db, subject, p, dir, &failpoints{record: p.Record}, &ownClock{}, engine.Config{Worker: "crash"})
	if err != nil {
		return err
	}
	for _, sc := range p.Runs[p.begun(dir):] {
		if err := w.runScenario(ctx, sc); err != nil {
			return err
		}
	}
	return closeProcess()
}

// progress describes how far the processes have come with the plan.
func (p plan) progress(dir string) string {
	n := p.begun(dir)
	size := int64(0)
	if info, err := os.Stat(eventLogFile(dir, p.Runs[n].Tag)); err == nil {
		size = info.Size()
	}
	return fmt.Sprint(n, " ", size)
}

// begun returns the number of the last run that has begun. Those before it have ended.
func (p plan) begun(dir string) int {
	n := sort.Search(len(p.Runs), func(i int) bool {
		_, err := os.Stat(eventLogFile(dir, p.Runs[i].Tag))
		return err != nil
	})
	return max(n-1, 0)
}

// uninterrupted returns a plan that runs every scenario once, without a kill.
func (set scenarioSet) uninterrupted() (plan, error) {
	p := plan{Params: set.params, Record: true}
	for i := range set.scenarios {
		if err := set.add(&p, "r", i, nil, ""); err != nil {
			return p, err
		}
	}
	return p, nil
}

// base is when the first run of a plan begins.
var base = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// add plans a run of a scenario. Every run begins so long before the run that precedes it
// that no deadline which that one leaves is due.
func (set scenarioSet) add(p *plan, prefix string, i int, cut *Hit, window string) error {
	tag := fmt.Sprintf("%s%04d", prefix, len(p.Runs))
	at := base
	if n := len(p.Runs); n > 0 {
		at = p.Runs[n-1].Script.Epoch.Add(-set.span)
	}
	script, err := set.group.Script(set.scenarios[i], tag, at)
	if err != nil {
		return fmt.Errorf("scenario %s: %w", tag, err)
	}
	p.Runs = append(p.Runs, plannedRun{Tag: tag, Scenario: i, Name: set.scenarios[i].Name, Script: script, Kill: cut, Window: window})
	return nil
}

// choose plans a kill in each window: of the label that was killed least so far, in the
// shortest scenario. With every, it plans one at each point of each label: each
// transition, each effect.
func (set scenarioSet) choose(p plan, past map[string][]entry, windows []Window, every bool) (plan, []Window, error) {
	found := map[Window][]entry{}
	scenarioOf := map[string]int{}
	for _, sc := range p.Runs {
		scenarioOf[sc.Tag] = sc.Scenario
		for _, e := range past[sc.Tag] {
			if e.Entry == passed {
				w := Window{e.Machine, e.Kind, e.Point}
				found[w] = append(found[w], e)
			}
		}
	}
	out := plan{Params: p.Params, Runs: slices.Clone(p.Runs)}
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
			cut := e.hit()
			if err := set.add(&out, "k", scenarioOf[e.Scenario], &cut, w.String()+" of "+e.Label); err != nil {
				return out, missed, err
			}
		}
		if len(candidates) == 0 {
			missed = append(missed, w)
		}
	}
	return out, missed, nil
}

// chooseShared plans a kill for each kind of task that workers do, at points that take
// turns; with every, at each point. It leaves out scenarios in which a handler moves the
// clock, since that would move it for all workers.
func (set scenarioSet) chooseShared(p plan, past map[string][]entry, every bool) (plan, []Window, error) {
	past = maps.Clone(past)
	for _, sc := range p.Runs {
		if past[sc.Tag] = byWorkers(past[sc.Tag]); movesClock(sc.Script) {
			delete(past, sc.Tag)
		}
	}
	var windows []Window
	turn := 0
	for _, k := range kindsOf(set.group) {
		points := sharedPoints(k)
		if len(points) > 0 && !every {
			points = points[turn%len(points):][:1]
			turn++
		}
		for _, at := range points {
			windows = append(windows, Window{set.name, k, at})
		}
	}
	out, missed, err := set.choose(p, past, windows, false)
	return out, slices.DeleteFunc(windows, func(w Window) bool { return slices.Contains(missed, w) }), err
}

// byWorkers leaves out where a caller's event starts a record: no worker passes there. In the
// transaction of a worker an answer or a deadline passes the same points.
func byWorkers(entries []entry) []entry {
	work := map[Hit]bool{}
	for _, e := range entries {
		if e.Entry == passed && e.Kind.steps() {
			work[e.hit()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(entries), func(e entry) bool {
		return e.Entry == passed && e.Kind == Started && !work[e.hit()]
	})
}

// movesClock reports whether time passes while a handler runs.
func movesClock(s scenarios.Script) bool {
	for _, r := range s.Replies {
		if r.Meanwhile > 0 {
			return true
		}
	}
	return false
}
