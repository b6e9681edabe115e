package discoverytest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

const (
	allowed = "everything" // the token that may do everything
	here    = "here"       // the node of the registry itself
)

// memory is a registry in this process: the second implementation that the suite checks.
type memory struct {
	mu       sync.Mutex
	now      time.Time
	services map[key]discovery.Instance
	checks   map[key]memoryCheck
	sessions map[string]discovery.Session
}

// key is an ID on a node.
type key struct{ node, id string }

type memoryCheck struct {
	discovery.Check
	ttl time.Duration // 0: it does not lapse
	due time.Time
}

func newMemory() *memory {
	return &memory{
		now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), services: map[key]discovery.Instance{},
		checks: map[key]memoryCheck{}, sessions: map[string]discovery.Session{},
	}
}

// fixture has the suite run on m. change may replace the client.
func (m *memory) fixture(change func(memoryClient) Client) Fixture {
	return Fixture{
		Access: Access{Token: allowed}, Datacenter: "memory", Registry: memoryRegistry{m}, Advance: m.advance,
		Open: func(_ testing.TB, a Access) Client {
			c := memoryClient{m: m, token: a.Token}
			if change != nil {
				return change(c)
			}
			return c
		},
	}
}

// locked runs f while nothing else uses m.
func (m *memory) locked(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

// advance moves the clock. Checks without a heartbeat turn critical.
func (m *memory) advance(d time.Duration) {
	m.locked(func() {
		m.now = m.now.Add(d)
		for k, c := range m.checks {
			if c.ttl > 0 && !m.now.Before(c.due) {
				c.Health = discovery.Critical
				m.checks[k] = c
			}
		}
	})
}

// health is that of the worst check of a service.
func (m *memory) health(k key) discovery.Health {
	for _, c := range m.checks {
		if c.Node == k.node && c.ServiceID == k.id && c.Health == discovery.Critical {
			return discovery.Critical
		}
	}
	return discovery.Passing
}

// put registers a service with its check, in place of what had the ID.
func (m *memory) put(node string, s discovery.Service, correlation, check string, health discovery.Health) {
	m.remove(key{node, s.ID})
	m.services[key{node, s.ID}] = discovery.Instance{
		ID: s.ID, Name: s.Name, Tags: s.Tags, Node: node, Datacenter: "memory",
		NodeID: s.NodeID, RegistrationID: s.RegistrationID, CorrelationID: correlation,
	}
	if check != "" {
		m.checks[key{node, check}] = memoryCheck{
			Check: discovery.Check{ID: check, Node: node, ServiceID: s.ID, RegistrationID: s.RegistrationID, Health: health},
			ttl:   s.TTL, due: m.now.Add(s.TTL),
		}
	}
}

// remove removes a service with its checks.
func (m *memory) remove(k key) {
	delete(m.services, k)
	maps.DeleteFunc(m.checks, func(_ key, c memoryCheck) bool { return c.Node == k.node && c.ServiceID == k.id })
}

// memoryClient is a client of a registry in memory.
type memoryClient struct {
	m     *memory
	token string
}

// do runs f on the registry if the IDs and the token are right. Without a token readers see nothing.
func (c memoryClient) do(ctx context.Context, attempt string, reads bool, ids []string, f func() error) error {
	for _, id := range ids {
		if id == "" || !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl) || path.Clean("/"+id) != "/"+id {
			return fmt.Errorf("%s: the ID %q: %w", attempt, id, discovery.ErrInvalid)
		}
	}
	if strings.ContainsFunc(discovery.Correlation(ctx), unicode.IsControl) {
		return fmt.Errorf("%s: the correlation id: %w", attempt, discovery.ErrInvalid)
	}
	if c.token != allowed {
		if reads && c.token == "" {
			return nil
		}
		return fmt.Errorf("%s: %w", attempt, discovery.ErrNotPermitted)
	}
	var err error
	c.m.locked(func() { err = f() })
	if err != nil {
		return fmt.Errorf("%s: %w", attempt, err)
	}
	return nil
}

func (c memoryClient) Register(ctx context.Context, s discovery.Service) error {
	return c.do(ctx, "register", false, []string{s.ID, s.RegistrationID}, func() error {
		if s.Name == "" || s.TTL <= 0 {
			return discovery.ErrInvalid
		}
		c.m.put(here, s, discovery.Correlation(ctx), "of "+s.RegistrationID, discovery.Passing)
		return nil
	})
}

func (c memoryClient) Heartbeat(ctx context.Context, registrationID string) error {
	return c.do(ctx, "heartbeat", false, []string{registrationID}, func() error {
		k := key{here, "of " + registrationID}
		check, there := c.m.checks[k]
		if !there {
			return discovery.ErrNotAdvertised
		}
		check.Health, check.due = discovery.Passing, c.m.now.Add(check.ttl)
		c.m.checks[k] = check
		return nil
	})
}

func (c memoryClient) Deregister(ctx context.Context, serviceID, registrationID string) error {
	return c.do(ctx, "deregister", false, []string{serviceID, registrationID}, func() error {
		if k := (key{here, serviceID}); c.m.services[k].RegistrationID == registrationID {
			c.m.remove(k)
		}
		return nil
	})
}

func (c memoryClient) Names(ctx context.Context) (names []string, err error) {
	err = c.do(ctx, "names", true, nil, func() error {
		for _, i := range c.m.services {
			names = append(names, i.Name)
		}
		return nil
	})
	slices.Sort(names)
	return slices.Compact(names), err
}

func (c memoryClient) Instances(ctx context.Context, name string) (found []discovery.Instance, err error) {
	err = c.do(ctx, "instances", true, []string{name}, func() error {
		for k, i := range c.m.services {
			if i.Name == name {
				i.Health = c.m.health(k)
				found = append(found, i)
			}
		}
		return nil
	})
	slices.SortFunc(found, func(a, b discovery.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return found, err
}

func (c memoryClient) Withdraw(ctx context.Context, i discovery.Instance) error {
	return c.do(ctx, "withdraw", false, []string{i.Node, i.ID, i.RegistrationID}, func() error {
		if k := (key{i.Node, i.ID}); c.m.services[k].RegistrationID == i.RegistrationID {
			c.m.remove(k)
		}
		return nil
	})
}

func (c memoryClient) Checks(ctx context.Context) (found []discovery.Check, err error) {
	err = c.do(ctx, "checks", true, nil, func() error {
		for _, check := range c.m.checks {
			found = append(found, check.Check)
		}
		return nil
	})
	return found, err
}

func (c memoryClient) RemoveCheck(ctx context.Context, check discovery.Check) error {
	return c.do(ctx, "remove check", false, []string{check.Node, check.ID}, func() error {
		delete(c.m.checks, key{check.Node, check.ID})
		return nil
	})
}

func (c memoryClient) Sessions(ctx context.Context) (found []discovery.Session, err error) {
	err = c.do(ctx, "sessions", true, nil, func() error {
		found = slices.Collect(maps.Values(c.m.sessions))
		return nil
	})
	return found, err
}

func (c memoryClient) DestroySession(ctx context.Context, id string) error {
	return c.do(ctx, "destroy session", false, []string{id}, func() error {
		delete(c.m.sessions, id)
		return nil
	})
}

// memoryRegistry does what other programs do.
type memoryRegistry struct{ m *memory }

func (r memoryRegistry) Healthy(_ context.Context, name, tag string) (ids []string, _ error) {
	r.m.locked(func() {
		for k, i := range r.m.services {
			if i.Name == name && slices.Contains(i.Tags, tag) && r.m.health(k) == discovery.Passing {
				ids = append(ids, i.ID)
			}
		}
	})
	return ids, nil
}

func (r memoryRegistry) Register(_ context.Context, s discovery.Service, health discovery.Health) error {
	check := ""
	if s.TTL > 0 {
		check = "of service " + s.ID
	}
	r.m.locked(func() { r.m.put(here, s, "", check, health) })
	return nil
}

func (r memoryRegistry) Deregister(_ context.Context, id string) error {
	r.m.locked(func() { r.m.remove(key{here, id}) })
	return nil
}

func (r memoryRegistry) AddLost(_ context.Context, node string, s discovery.Service, checkID string) error {
	r.m.locked(func() {
		r.m.put(node, s, "", "of "+s.RegistrationID, discovery.Critical)
		r.m.checks[key{node, checkID}] = memoryCheck{Check: discovery.Check{ID: checkID, Node: node, Health: discovery.Critical}}
	})
	return nil
}

// HasNode: a node of this registry is there as long as something is on it.
func (r memoryRegistry) HasNode(_ context.Context, node string) (there bool, _ error) {
	r.m.locked(func() {
		for _, c := range r.m.checks {
			there = there || c.Node == node
		}
		for _, i := range r.m.services {
			there = there || i.Node == node
		}
	})
	return there, nil
}

func (r memoryRegistry) RemoveNode(_ context.Context, node string) error {
	r.m.locked(func() {
		maps.DeleteFunc(r.m.services, func(k key, _ discovery.Instance) bool { return k.node == node })
		maps.DeleteFunc(r.m.checks, func(k key, _ memoryCheck) bool { return k.node == node })
	})
	return nil
}

func (r memoryRegistry) CreateSession(_ context.Context, name string) (id string, err error) {
	r.m.locked(func() {
		id = fmt.Sprintf("session-%d", len(r.m.sessions))
		if _, taken := r.m.sessions[id]; taken {
			err = errors.New("the session exists")
			return
		}
		r.m.sessions[id] = discovery.Session{ID: id, Name: name, Node: here}
	})
	return id, err
}
