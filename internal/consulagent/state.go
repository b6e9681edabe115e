package consulagent

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// node is what the catalog knows of a Consul agent.
type node struct {
	address  string
	services map[string]service
	checks   map[string]check
}

func newNode(address string) *node {
	return &node{address: address, services: map[string]service{}, checks: map[string]check{}}
}

type service struct {
	ID      string
	Service string
	Tags    []string
	Meta    map[string]string
}

// check is a TTL check, or one that some other node reports.
type check struct {
	Node        string
	CheckID     string
	Name        string
	Status      string
	Output      string
	ServiceID   string
	ServiceName string
	ServiceTags []string
	Type        string

	ttl time.Duration // 0: it does not lapse
	due time.Time     // when it lapses
}

const (
	passing  = "passing"
	warning  = "warning"
	critical = "critical"
)

// at is the check as it is at a time.
func (c check) at(now time.Time) check {
	if c.ttl == 0 || now.Before(c.due) || c.Status == critical {
		return c
	}
	if last := c.Output; last == "" {
		c.Output = "TTL expired"
	} else {
		c.Output = "TTL expired (last output before timeout follows): " + last
	}
	c.Status = critical
	return c
}

func (n *node) removeService(id string) {
	delete(n.services, id)
	maps.DeleteFunc(n.checks, func(_ string, c check) bool { return c.ServiceID == id })
}

// checksOf returns the checks of a node, by ID, that are wanted.
func (a *Agent) checksOf(n *node, wanted func(check) bool) []check {
	found := []check{} // Consul answers with an empty list, not with null
	now := a.o.Now()
	for _, c := range n.checks {
		if wanted(c) {
			found = append(found, c.at(now))
		}
	}
	slices.SortFunc(found, func(a, b check) int { return cmp.Compare(a.CheckID, b.CheckID) })
	return found
}

func (a *Agent) self() *node { return a.nodes[NodeName] }

func (a *Agent) nodeNames() []string { return slices.Sorted(maps.Keys(a.nodes)) }
