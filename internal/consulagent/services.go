package consulagent

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"time"
)

// registration is the body of a service registration, without what the client
// library leaves out.
type registration struct {
	ID     string
	Name   string
	Tags   []string
	Meta   map[string]string
	Check  *checkDefinition
	Checks []checkDefinition
}

type checkDefinition struct {
	CheckID string
	Name    string
	TTL     string
	Status  string
}

func (a *Agent) registerService(c call) {
	var r registration
	if err := c.read(&r, true); err != nil {
		c.fail(http.StatusBadRequest, "Request decode failed: %v", err)
		return
	}
	if r.ID == "" {
		r.ID = r.Name
	}
	checks, err := r.validate()
	if err != nil {
		c.fail(http.StatusBadRequest, "%v", err)
		return
	}
	if !c.permitted("service:write on " + r.Name) {
		return
	}
	n := a.self()
	s := service{ID: r.ID, Service: r.Name, Tags: r.Tags, Meta: r.Meta}
	n.services[s.ID] = s
	if c.r.URL.Query().Has("replace-existing-checks") {
		maps.DeleteFunc(n.checks, func(id string, old check) bool {
			_, kept := checks[id]
			return old.ServiceID == s.ID && !kept
		})
	}
	for id, fresh := range checks {
		fresh.Node, fresh.ServiceID, fresh.ServiceName, fresh.ServiceTags = NodeName, s.ID, s.Service, s.Tags
		fresh.due = a.o.Now().Add(fresh.ttl)
		if old, there := n.checks[id]; there { // what it said stays
			old = old.at(a.o.Now())
			fresh.Status, fresh.Output = old.Status, old.Output
		}
		n.checks[id] = fresh
	}
}

var metaKey = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,128}$`)

// validate returns the checks of r, by ID.
func (r registration) validate() (map[string]check, error) {
	const maxPairs, maxValue = 64, 512
	if r.Name == "" {
		return nil, errors.New("missing service name")
	}
	if len(r.Meta) > maxPairs {
		return nil, fmt.Errorf("invalid service Meta: it cannot contain more than %d key/value pairs", maxPairs)
	}
	for key, value := range r.Meta {
		if !metaKey.MatchString(key) || len(value) > maxValue {
			return nil, fmt.Errorf("invalid service Meta: the pair (%q, %.80q)", key, value)
		}
	}
	definitions := r.Checks
	if r.Check != nil {
		definitions = append(definitions, *r.Check)
	}
	checks := make(map[string]check, len(definitions))
	for i, d := range definitions {
		c, err := d.check()
		if err != nil {
			return nil, err
		}
		if c.CheckID == "" {
			c.CheckID = "service:" + r.ID
			if i > 0 {
				c.CheckID += fmt.Sprintf(":%d", i+1)
			}
		}
		checks[c.CheckID] = c
	}
	return checks, nil
}

func (d checkDefinition) check() (check, error) {
	ttl, err := time.ParseDuration(d.TTL)
	switch {
	case err != nil:
		return check{}, fmt.Errorf("the TTL: %w", err)
	case ttl <= 0:
		return check{}, errors.New("the TTL must be positive")
	}
	switch d.Status {
	case "":
		d.Status = critical
	case passing, warning, critical:
	default:
		return check{}, errors.New("the status must be passing, warning or critical")
	}
	return check{CheckID: d.CheckID, Name: d.Name, Status: d.Status, Type: "ttl", ttl: ttl}, nil
}

func (a *Agent) service(c call) {
	id := c.r.PathValue("id")
	s, there := a.self().services[id]
	switch {
	case !there:
		c.fail(http.StatusNotFound, "unknown service ID: %s", id)
	case c.permitted("service:read on " + s.Service):
		c.answer(s)
	}
}

func (a *Agent) deregisterService(c call) {
	id := c.r.PathValue("id")
	s, there := a.self().services[id]
	switch {
	case !there:
		c.fail(http.StatusNotFound, "Unknown service ID %q. Ensure that the service ID is passed, not the service name.", id)
	case c.permitted("service:write on " + s.Service):
		a.self().removeService(id)
	}
}

// foundCheck returns the check that a call is about, and answers where there is
// none or the token may not write it.
func (a *Agent) foundCheck(c call) (check, bool) {
	id := c.r.PathValue("id")
	found, there := a.self().checks[id]
	if !there {
		c.fail(http.StatusNotFound, "Unknown check ID %q. Ensure that the check ID is passed, not the check name.", id)
		return check{}, false
	}
	return found, c.permitted("service:write on " + found.ServiceName)
}

func (a *Agent) updateCheck(c call) {
	var update struct{ Status, Output string }
	if err := c.read(&update, false); err != nil {
		c.fail(http.StatusBadRequest, "Request decode failed: %v", err)
		return
	}
	switch update.Status {
	case passing, warning, critical:
	default:
		c.fail(http.StatusBadRequest, "Invalid check status: %q", update.Status)
		return
	}
	if found, ok := a.foundCheck(c); ok {
		found.Status, found.Output, found.due = update.Status, update.Output, a.o.Now().Add(found.ttl)
		a.self().checks[found.CheckID] = found
	}
}

func (a *Agent) deregisterCheck(c call) {
	if found, ok := a.foundCheck(c); ok {
		delete(a.self().checks, found.CheckID)
	}
}
