package consul

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/hashicorp/consul/api"

	"github.com/fsmgen/fsmgen/adapters/discovery"
)

// Client talks to one Consul agent. It is safe for concurrent use.
type Client struct {
	api     *api.Client
	http    *http.Client
	timeout time.Duration
}

var (
	_ discovery.Discovery = (*Client)(nil)
	_ discovery.Catalog   = (*Client)(nil)
)

// New returns a Client. It sends no request.
func New(o Options) (*Client, error) {
	o = o.withDefaults()
	address, err := o.validate()
	if err != nil {
		return nil, fmt.Errorf("open Consul: %w", err)
	}
	carrier := newHTTPClient(o)
	client, err := api.NewClient(&api.Config{
		Address:    address.String(),
		Scheme:     address.Scheme,
		HttpClient: carrier,
		// The library fills an empty token from the environment. The transport
		// sends the right one, or none.
		Token: "replaced by the transport",
	})
	if err != nil {
		return nil, fmt.Errorf("open Consul: %w", err)
	}
	return &Client{api: client, http: carrier, timeout: o.Timeout}, nil
}

// Close closes idle connections.
func (c *Client) Close() {
	c.http.CloseIdleConnections()
}

// call does one request, within the timeout. attempt says what it is about.
func (c *Client) call(ctx context.Context, attempt string, request func(context.Context) error) error {
	if id := discovery.Correlation(ctx); !fitsHeader(id) {
		return invalid(attempt, fmt.Errorf("the correlation id %.80q has characters that an HTTP header can't have", id))
	}
	bounded, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := request(bounded); err != nil {
		return classify(bounded, attempt, err)
	}
	return nil
}

func query(ctx context.Context) *api.QueryOptions { return new(api.QueryOptions).WithContext(ctx) }

func write(ctx context.Context) *api.WriteOptions { return new(api.WriteOptions).WithContext(ctx) }

func quoted(what, id string) string { return fmt.Sprintf("%s %.80q", what, id) }
