package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
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
	"github.com/fsmgen/fsmgen/services/registration"
)

// serve is what the flags of the daemon say.
type serve struct {
	listen, store, dir, schema string
	consul, consulCA           string
	name, traces               string
	twoStep                    bool
	ttl                        time.Duration
	collect                    registration.Collect
	out                        io.Writer // of the log
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
	s := &serve{out: out}
	c := &cobra.Command{
		Use:   "serve",
		Short: "Be the daemon, until SIGTERM",
		Long: `Be the daemon: answer the HTTP API, register and heartbeat, collect what is left
behind. Daemons that share a PostgreSQL database share the work.

SIGTERM or an interrupt deregisters the nodes that were registered through this
daemon, within the 15 s of a deregistration, and ends.

The heap grows to five times what is in use before the garbage collector runs; $GOGC
says otherwise, in percent: 100 is twice.`,
		Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context()) },
	}
	f := c.Flags()
	f.StringVar(&s.listen, "listen", defaultAddr, "address of the HTTP API; port 0: any")
	f.StringVar(&s.store, "store", fallback(envStore, embedded), "sqlite, or `postgres://…` (also $"+envStore+")")
	f.StringVar(&s.dir, "dir", "registration-data", "folder of the SQLite file")
	f.StringVar(&s.schema, "schema", "", "schema of the PostgreSQL database (default public)")
	f.StringVar(&s.consul, "consul", fallback(envConsul, noConsul), "`URL` of the Consul agent, or none (also $"+envConsul+"); the token is $"+envToken)
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

func fallback(variable, byDefault string) string {
	if v := os.Getenv(variable); v != "" {
		return v
	}
	return byDefault
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
	d, err := registration.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	listener, err := net.Listen("tcp", s.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	logger.InfoContext(ctx, "ready", "listen", listener.Addr().String(), "store", kindOf(s.store), "consul", s.consul, "two_step", s.twoStep)
	return s.until(ctx, d, listener, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), logger)
}

// until serves until ctx ends, and then takes leave.
func (s *serve) until(ctx context.Context, d *registration.Server, l net.Listener, metrics http.Handler, logger *slog.Logger) error {
	const header = 10 * time.Second
	server := &http.Server{Handler: d.Handler(metrics), ReadHeaderTimeout: header}
	broken := make(chan error, 1)
	go func() { broken <- server.Serve(l) }()
	working, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- d.Run(working) }()

	var failure error
	select {
	case <-ctx.Done():
	case failure = <-broken:
	}
	failure = errors.Join(failure, takeLeave(working, d, server, logger))
	stop()
	return errors.Join(failure, <-ended)
}

// takeLeave takes no more requests and deregisters this daemon's nodes.
func takeLeave(ctx context.Context, d *registration.Server, server *http.Server, logger *slog.Logger) error {
	const grace = 500 * time.Millisecond // for requests, and for the timeout of the state to fire
	ctx, cancel := context.WithTimeout(ctx, machine.DefaultParams().DeregisteringTimeout+grace)
	defer cancel()
	closed := make(chan error, 1)
	go func() {
		closing, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		closed <- server.Shutdown(closing)
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
	metrics, err := prometheus.New(registry, machine.Define[*sql.Tx](nil, machine.DefaultParams()))
	if err != nil {
		return none, err
	}
	o := registration.Options{
		Store: s.store, Schema: s.schema, Name: s.name, TwoStep: s.twoStep, TTL: s.ttl, Collect: s.collect,
		Logger: logger, Metrics: metrics.Record,
	}
	switch {
	case s.store == embedded:
		if err := os.MkdirAll(s.dir, 0o755); err != nil {
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
		text, err := os.ReadFile(s.consulCA)
		if err != nil {
			return nil, err
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate", s.consulCA)
		}
		o.TLS = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return consul.New(o)
}
