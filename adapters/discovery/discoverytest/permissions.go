package discoverytest

import (
	"slices"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// stranger is a client with a token that the agent does not know, or with none.
func (l *lab) stranger(token string) *consul.Client {
	l.Helper()
	o := l.Options
	o.Token = token
	return l.with(o)
}

const unknownToken = "00000000-dead-beef-0000-000000000000"

func withoutPermission(l *lab) {
	s := l.registered(1)
	i := l.there(s, discovery.Passing)
	session, _, err := l.raw.Session().CreateNoChecks(&api.SessionEntry{Name: l.prefix}, nil)
	l.must(err)
	check, _ := l.check("registration:" + s.RegistrationID)
	for _, token := range []string{"", unknownToken} {
		c := l.stranger(token)
		for what, err := range map[string]error{
			"register":        c.Register(l.Context(), reregistered(s)),
			"heartbeat":       c.Heartbeat(l.Context(), s.RegistrationID),
			"deregister":      c.Deregister(l.Context(), s.ID, s.RegistrationID),
			"withdraw":        c.Withdraw(l.Context(), i),
			"remove check":    c.RemoveCheck(l.Context(), check),
			"destroy session": c.DestroySession(l.Context(), session),
		} {
			l.Log(what)
			l.fails(err, discovery.ErrNotPermitted)
		}
	}
	l.there(s, discovery.Passing)
	l.must(l.client.Heartbeat(l.Context(), s.RegistrationID))
	all, err := l.client.Sessions(l.Context())
	l.must(err)
	if !slices.ContainsFunc(all, func(s discovery.Session) bool { return s.ID == session }) {
		l.Error("the session is gone")
	}
	l.must(l.client.DestroySession(l.Context(), session))
}

// Without a token Consul leaves out what may not be read, with an unknown one it
// refuses.
func readingWithoutPermission(l *lab) {
	l.registered(1)
	none := l.stranger("")
	instances, err := none.Instances(l.Context(), l.prefix)
	if err != nil || len(instances) != 0 {
		l.Errorf("instances: %v, %v", instances, err)
	}
	names, err := none.Names(l.Context())
	if err != nil || len(names) != 0 {
		l.Errorf("names: %v, %v", names, err)
	}
	checks, err := none.Checks(l.Context())
	if err != nil || len(checks) != 0 {
		l.Errorf("checks: %v, %v", checks, err)
	}
	sessions, err := none.Sessions(l.Context())
	if err != nil || len(sessions) != 0 {
		l.Errorf("sessions: %v, %v", sessions, err)
	}
	unknown := l.stranger(unknownToken)
	_, err = unknown.Instances(l.Context(), l.prefix)
	l.fails(err, discovery.ErrNotPermitted)
	_, err = unknown.Names(l.Context())
	l.fails(err, discovery.ErrNotPermitted)
	_, err = unknown.Checks(l.Context())
	l.fails(err, discovery.ErrNotPermitted)
	_, err = unknown.Sessions(l.Context())
	l.fails(err, discovery.ErrNotPermitted)
}
