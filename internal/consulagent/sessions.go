package consulagent

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"slices"
)

type session struct {
	ID       string
	Name     string
	Node     string
	Behavior string
	TTL      string
}

func (a *Agent) createSession(c call) {
	s := session{Node: NodeName, Behavior: "release"}
	if err := c.readOptional(&s); err != nil {
		c.fail(http.StatusBadRequest, "Request decode failed: %v", err)
		return
	}
	if !c.permitted("session:write on " + s.Node) {
		return
	}
	if a.nodes[s.Node] == nil {
		c.fail(http.StatusInternalServerError, "Missing node registration")
		return
	}
	s.ID = newID()
	a.sessions = append(a.sessions, s)
	c.answer(struct{ ID string }{s.ID})
}

// newID returns 16 random bytes as Consul writes them.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails: it ends the process instead
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

func (a *Agent) destroySession(c call) {
	id := c.r.PathValue("id")
	i := slices.IndexFunc(a.sessions, func(s session) bool { return s.ID == id })
	if i >= 0 {
		if !c.permitted("session:write on " + a.sessions[i].Node) {
			return
		}
		a.sessions = slices.Delete(a.sessions, i, i+1)
	}
	c.answer(true)
}

func (a *Agent) listSessions(c call) {
	found := []session{}
	if c.allowed {
		found = append(found, a.sessions...)
	}
	c.answer(found)
}
