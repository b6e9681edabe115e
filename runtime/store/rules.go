package store

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// RowRules are the rules of a machine for the rows of the engine's tables. A store makes its database
// refuse other rows, from any client.
type RowRules struct {
	Machine  string
	Version  string // of the table
	Tables   fsm.Tables
	Messages []MessageRule // one for each effect that becomes a message, in spec order
	Timeouts []TimeoutRule // by state
	Raises   []string      // events that follow a step in the same call, sorted
}

// MessageRule is the rule for the messages of an effect.
type MessageRule struct {
	Effect  fsm.EffectInfo
	Sources []MessageSource
}

// MessageSource is a transition that asks for an effect, as its history row names
// it, and the places that the effect has in it.
type MessageSource struct {
	Transition, From, Event string
	Seq                     int
}

// TimeoutRule is the event that the deadline of a state fires.
type TimeoutRule struct{ State, Event string }

// RowRulesOf returns the rules of a machine.
func RowRulesOf(m Machine) RowRules {
	rules := RowRules{Machine: m.Name(), Version: m.Version(), Tables: m.Tables()}
	infos := map[string]fsm.EffectInfo{}
	for _, info := range m.Effects() {
		infos[info.Name] = info
	}
	sources := map[string][]MessageSource{}
	for _, t := range m.Transitions() {
		seq := 0
		for _, name := range t.Effects {
			if infos[name].Kind == fsm.EffectMetric {
				continue
			}
			sources[name] = append(sources[name], MessageSource{t.Name, t.From, t.Event, seq})
			seq++
		}
		if t.Raises != "" {
			rules.Raises = append(rules.Raises, t.Raises)
		}
	}
	for _, info := range m.Effects() {
		if info.InOutbox() {
			info.Destination = cmp.Or(info.Destination, info.Name)
			rules.Messages = append(rules.Messages, MessageRule{info, sources[info.Name]})
		}
	}
	for state, event := range m.Timeouts() {
		rules.Timeouts = append(rules.Timeouts, TimeoutRule{state, event})
	}
	slices.SortFunc(rules.Timeouts, func(a, b TimeoutRule) int { return cmp.Compare(a.State, b.State) })
	slices.Sort(rules.Raises)
	rules.Raises = slices.Compact(rules.Raises)
	return rules
}

// versionLine begins the line in which the SQL of rules names its version.
const versionLine = "-- by table version "

// Heading returns the line of SQL that Replace looks for.
func (r RowRules) Heading() string { return versionLine + r.Version + "\n" }

// Replace reports whether the SQL with should replace the SQL there. Rules of a later version
// stay: a process of an earlier version that restarts during an update must not make the
// database refuse the rows of the later one.
func (r RowRules) Replace(there, with string) bool {
	return there != with && compareVersions(r.VersionOf(there), r.Version) <= 0
}

// VersionOf returns the version that SQL of these rules names; "" where it names none.
func (r RowRules) VersionOf(there string) string {
	_, after, _ := strings.Cut(there, versionLine)
	version, _, _ := strings.Cut(after, "\n")
	return version
}

// compareVersions compares versions like 1.10.0 number by number.
func compareVersions(a, b string) int {
	numbers := func(version string) (list []int) {
		for _, part := range strings.Split(version, ".") {
			n, _ := strconv.Atoi(part) // the checker allows nothing else
			list = append(list, n)
		}
		return list
	}
	return slices.Compare(numbers(a), numbers(b))
}
