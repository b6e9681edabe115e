package consul

import (
	"context"
	"fmt"
	"regexp"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// Sessions implements discovery.Catalog.
func (c *Client) Sessions(ctx context.Context) ([]discovery.Session, error) {
	var entries []*api.SessionEntry
	err := c.call(ctx, "list the sessions", func(ctx context.Context) (err error) {
		entries, _, err = c.api.Session().List(query(ctx))
		return err
	})
	if err != nil {
		return nil, err
	}
	sessions := make([]discovery.Session, 0, len(entries))
	for _, e := range entries {
		if e != nil {
			sessions = append(sessions, discovery.Session{ID: e.ID, Name: e.Name, Node: e.Node})
		}
	}
	return sessions, nil
}

// sessionID is what Consul calls a session; for anything else it has a server
// error.
var sessionID = regexp.MustCompile(`^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$`)

// DestroySession implements discovery.Catalog.
func (c *Client) DestroySession(ctx context.Context, id string) error {
	attempt := quoted("destroy session", id)
	if !sessionID.MatchString(id) {
		return invalid(attempt, fmt.Errorf("%.80q is not a UUID", id))
	}
	return c.call(ctx, attempt, func(ctx context.Context) error {
		_, err := c.api.Session().Destroy(id, write(ctx))
		return err
	})
}
