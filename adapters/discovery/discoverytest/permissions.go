package discoverytest

import (
	"slices"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// as returns a client with a token that the agent does not know, or with none.
func (r *run) as(token string) Client {
	r.Helper()
	a := r.Access
	a.Token = token
	return r.with(a)
}

const unknownToken = "00000000-dead-beef-0000-000000000000"

func withoutPermission(r *run) {
	s := r.registered(1)
	i := r.there(s, discovery.Passing)
	session, err := r.Registry.CreateSession(r.Context(), r.prefix)
	r.must(err)
	check, _ := r.check(ofRegistration(s.RegistrationID))
	for _, token := range []string{"", unknownToken} {
		c := r.as(token)
		for what, err := range map[string]error{
			"register":        c.Register(r.Context(), reregistered(s)),
			"heartbeat":       c.Heartbeat(r.Context(), s.RegistrationID),
			"deregister":      c.Deregister(r.Context(), s.ID, s.RegistrationID),
			"withdraw":        c.Withdraw(r.Context(), i),
			"remove check":    c.RemoveCheck(r.Context(), check),
			"destroy session": c.DestroySession(r.Context(), session),
		} {
			r.Log(what)
			r.fails(err, discovery.ErrNotPermitted)
		}
	}
	r.there(s, discovery.Passing)
	r.must(r.client.Heartbeat(r.Context(), s.RegistrationID))
	all, err := r.client.Sessions(r.Context())
	r.must(err)
	if !slices.ContainsFunc(all, func(s discovery.Session) bool { return s.ID == session }) {
		r.Error("the session is gone")
	}
	r.must(r.client.DestroySession(r.Context(), session))
}

// readingWithoutPermission: without a token the server leaves out what may not be read. With an
// unknown one it refuses.
func readingWithoutPermission(r *run) {
	r.registered(1)
	none := r.as("")
	instances, err := none.Instances(r.Context(), r.prefix)
	if err != nil || len(instances) != 0 {
		r.Errorf("instances: %v, %v", instances, err)
	}
	names, err := none.Names(r.Context())
	if err != nil || len(names) != 0 {
		r.Errorf("names: %v, %v", names, err)
	}
	checks, err := none.Checks(r.Context())
	if err != nil || len(checks) != 0 {
		r.Errorf("checks: %v, %v", checks, err)
	}
	sessions, err := none.Sessions(r.Context())
	if err != nil || len(sessions) != 0 {
		r.Errorf("sessions: %v, %v", sessions, err)
	}
	unknown := r.as(unknownToken)
	_, err = unknown.Instances(r.Context(), r.prefix)
	r.fails(err, discovery.ErrNotPermitted)
	_, err = unknown.Names(r.Context())
	r.fails(err, discovery.ErrNotPermitted)
	_, err = unknown.Checks(r.Context())
	r.fails(err, discovery.ErrNotPermitted)
	_, err = unknown.Sessions(r.Context())
	r.fails(err, discovery.ErrNotPermitted)
}
