package main

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/adapters/consul"
	"github.com/fsmgen/fsmgen/adapters/prometheus"
	machine "github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/services/internal/daemon"
	"github.com/fsmgen/fsmgen/services/registration"
	"github.com/fsmgen/fsmgen/services/registration/httpapi"
)

// serve is what the flags of the daemon say.
type serve struct {
	api                daemon.Options
	store, dir, schema string
	consul, consulCA   string
	name, traces       string
	twoStep            bool
	ttl                time.Duration
	collect            registration.Collect
	params             machine.Params
	out                io.Writer // of the log
}

const (
	noConsul    = "none"
	embedded    = "sqlite"
	envConsul   = "REGISTRATIOND_CONSUL"
	envStore    = "REGISTRATIOND_STORE"
	envToken    = "CONSUL_HTTP_TOKEN"
	defaultAddr = "127.0.0.1:8400"
)

func newServe(out io.Writer) *cobra.Command {
	s := &serve{out: out, params: machine.DefaultParams()}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Be the daemon, until SIGTERM",
		Long: `Be the daemon: answer the HTTP API, register and heartbeat, collect what is left
behind. Daemons that share a PostgreSQL database share the work.

SIGTERM or an interrupt deregisters the nodes that were registered through this
daemon, within --deregistering-timeout, and ends.

The heap grows to five times what is in use before the garbage collector runs; $GOGC
says otherwise, in percent: 100 is twice.`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			fallBack(c, "store", &s.store, envStore)
			fallBack(c, "consul", &s.consul, envConsul)
			return s.run(c.Context())
		},
	}
	s.apiFlags(c)
	s.stateFlags(c)
	f := c.Flags()
	f.StringVar(&s.store, "store", embedded, "sqlite, or `postgres://…`; with a password in it rather $"+envStore)
	f.StringVar(&s.dir, "dir", "registration-data", "folder of the SQLite file")
	f.StringVar(&s.schema, "schema", "", "schema of the PostgreSQL database (default public)")
	f.StringVar(&s.consul, "consul", noConsul, "`URL` of the Consul agent, or none (also $"+envConsul+"); the token is $"+envToken)
	f.StringVar(&s.consulCA, "consul-ca", "", "`file` with the CAs of an https agent; default: those of this machine")
	f.StringVar(&s.name, "name", "", "name of this daemon, kept over restarts (default: the host's)")
	f.StringVar(&s.traces, "traces", "", "`file` to which OpenTelemetry spans are appended, a JSON object each; a trace has the correlation id as its own")
	f.BoolVar(&s.twoStep, "two-step", false, "commit the checkpoint postgres_registered before Consul is asked")
	f.DurationVar(&s.ttl, "ttl", time.Minute, "how long a service stays healthy without a heartbeat")
	f.DurationVar(&s.collect.Every, "gc-every", 5*time.Minute, "how often the collectors run")
	f.DurationVar(&s.collect.StaleAfter, "gc-stale-after", time.Hour, "how long a node may not be heard of")
	f.DurationVar(&s.collect.CriticalFor, "gc-critical-for", 5*time.Minute, "how long a service may be critical")
	return c
}

// apiFlags are those of the HTTP API.
func (s *serve) apiFlags(c *cobra.Command) {
	f := c.Flags()
	s.api.Public = []string{"/healthz"}
	f.StringVar(&s.api.Listen, "listen", defaultAddr, "address of the HTTP API; port 0: any. One that is not loopback needs --token-file or --tls-client-ca")
	f.StringVar(&s.api.TokenFile, "token-file", "", "`file` with the tokens that requests need, one a line; read again when it changes")
	f.StringVar(&s.api.Cert, "tls-cert", "", "`file` with the certificate of the HTTP API; default: no TLS")
	f.StringVar(&s.api.Key, "tls-key", "", "`file` with its key")
	f.StringVar(&s.api.ClientCA, "tls-client-ca", "", "`file` with the CAs of the certificates that clients need")
	f.StringSliceVar(&s.api.Hosts, "host", nil, "further `name` by which clients ask for this daemon, beside localhost and the address")
	f.IntVar(&s.api.Connections, "max-connections", 0, "how many connections there may be at once (default 256)")
}

// stateFlags are the timeouts of the states, which the table leaves to be configured.
func (s *serve) stateFlags(c *cobra.Command) {
	f, p := c.Flags(), &s.params
	for _, flag := range []struct {
		name  string
		value *time.Duration
		what  string
	}{
		{"validating-timeout", &p.ValidatingTimeout, "how long the validation of a registration may take"},
		{"registering-postgres-timeout", &p.RegisteringPostgresTimeout, "how long PostgreSQL may take to store a node"},
		{"registering-consul-timeout", &p.RegisteringConsulTimeout, "how long Consul may take to register a node"},
		{"deregistering-timeout", &p.DeregisteringTimeout, "how long the deregistration of a node may take"},
	} {
		f.DurationVar(flag.value, flag.name, *flag.value, flag.what)
	}
}

// fallBack sets a flag that was not given to the value of a variable. Help shows no
// such value: it may have a password in it.
func fallBack(c *cobra.Command, flag string, value *string, variable string) {
	if v := os.Getenv(variable); v != "" && !c.Flags().Changed(flag) {
		*value = v
	}
}

// collectLess has the garbage collector run once the heap is five times what is in use,
// unless $GOGC says otherwise. A daemon keeps a few MiB and drops nearly all that it
// allocates: at twice, which is the default, the collector runs 39 times a second under
// load instead of 8, for a fifth of all that a registration costs the machine.
func collectLess() {
	const percent = 400
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

func (s *serve) run(ctx context.Context) (err error) {
	collectLess()
	logger := slog.New(slog.NewJSONHandler(s.out, nil))
	registry := client.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	o, err := s.options(logger, registry)
	if err != nil {
		return err
	}
	if s.traces != "" {
		trace, end, err := openTraces(s.traces)
		if err != nil {
			return fmt.Errorf("--traces: %w", err)
		}
		defer func() { logEnd(logger, end()) }()
		o.Trace = trace
	}
	api, err := daemon.Listen(s.api, logger)
	if err != nil {
		return usageError{err}
	}
	d, err := registration.Open(ctx, o)
	if err != nil {
		return errors.Join(err, api.Shutdown(ctx))
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	logger.InfoContext(ctx, "ready", "listen", api.Addr().String(), "store", kindOf(s.store), "consul", withoutPassword(s.consul), "two_step", s.twoStep)
	return s.until(ctx, d, api, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), logger)
}

// withoutPassword is a URL for the log.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil {
		return u.Redacted()
	}
	return "?"
}

// until serves until ctx ends, and then takes leave.
func (s *serve) until(ctx context.Context, d *registration.Server, api *daemon.Server, metrics http.Handler, logger *slog.Logger) error {
	broken := make(chan error, 1)
	go func() { broken <- api.Serve(httpapi.New(d, metrics, logger)) }()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(working) }()

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-broken:
	}
	failure = errors.Join(failure, s.takeLeave(working, d, api, logger))
	stop()
	return errors.Join(failure, <-ended)
}

// takeLeave takes no more requests and deregisters this daemon's nodes.
func (s *serve) takeLeave(ctx context.Context, d *registration.Server, api *daemon.Server, logger *slog.Logger) error {
	const grace = 500 * time.Millisecond // for requests, and for the timeout of the state to fire
	ctx, cancel := context.WithTimeout(ctx, s.params.DeregisteringTimeout+grace)
	defer cancel()
	closed := make(chan error, 1)
	go func() {
		closing, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		closed <- api.Shutdown(closing)
	}()
	left, err := d.Leave(ctx)
	if len(left) > 0 {
		logger.WarnContext(ctx, "nodes were left as they are; the collectors of other daemons, or the next start, see to them", "nodes", left)
	}
	if err := <-closed; err != nil {
		logger.WarnContext(ctx, "requests were cut short", "error", err)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

func kindOf(store string) string {
	if store == embedded {
		return embedded
	}
	return "postgres"
}

// options are those of the service.
func (s *serve) options(logger *slog.Logger, registry *client.Registry) (registration.Options, error) {
	var none registration.Options
	if least := min(s.params.ValidatingTimeout, s.params.RegisteringPostgresTimeout, s.params.RegisteringConsulTimeout, s.params.DeregisteringTimeout); least <= 0 {
		return none, usageError{fmt.Errorf("the timeout of a state is %s: it must be above 0", least)}
	}
	metrics, err := prometheus.New(registry, machine.Define[*sql.Tx](nil, s.params))
	if err != nil {
		return none, err
	}
	o := registration.Options{
		Store: s.store, Schema: s.schema, Name: s.name, TwoStep: s.twoStep, TTL: s.ttl, Collect: s.collect,
		Params: s.params, Logger: logger, Metrics: metrics.Record,
	}
	switch {
	case s.store == embedded:
		if err := os.MkdirAll(s.dir, 0o700); err != nil {
			return none, err
		}
		o.Store = filepath.Join(s.dir, "registrations.db")
	case !strings.HasPrefix(s.store, "postgres://") && !strings.HasPrefix(s.store, "postgresql://"):
		return none, usageError{errors.New("--store is sqlite or postgres://…")}
	}
	if s.consul == noConsul {
		return o, nil
	}
	c, err := s.connect()
	if err != nil {
		return none, usageError{fmt.Errorf("--consul: %w", err)}
	}
	o.Discovery, o.Catalog = c, c
	return o, nil
}

func (s *serve) connect() (*consul.Client, error) {
	o := consul.Options{Address: s.consul, Token: os.Getenv(envToken)}
	if s.consulCA != "" {
		pool, err := daemon.Authorities(s.consulCA)
		if err != nil {
			return nil, err
		}
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return consul.New(o)
}
