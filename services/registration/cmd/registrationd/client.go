package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/fsmgen/fsmgen/services/internal/daemon"
	"github.com/fsmgen/fsmgen/services/registration"
	"github.com/fsmgen/fsmgen/services/registration/httpapi"
)

// remote is the client of a daemon's API.
type remote struct {
	server               string
	tokenFile            string
	ca, cert, privateKey string // files, for https
	key, correlation     string
	json                 bool
	in                   io.Reader
	out                  io.Writer
}

const (
	envServer    = "REGISTRATIOND_SERVER"
	envTokenFile = "REGISTRATIOND_TOKEN_FILE"
)

func newClient(in io.Reader, out io.Writer) *remote { return &remote{in: in, out: out} }

// addTo adds the commands that talk to a daemon.
func (r *remote) addTo(root *cobra.Command) {
	commands := []*cobra.Command{
		r.withEvent("register", "Register a node: in the database first, then in Consul"),
		r.withEvent("correct", "Replace the payload of a node whose validation failed; retry goes on with it"),
		r.bare("retry", "Try again: Consul alone if the node is half registered, else everything"),
		r.bare("retry-postgres", "Try the database alone again, if Consul has the node"),
		r.bare("abandon", "Give a failed registration up; the collectors remove what it left"),
		r.bare("deregister", "Take a node out of Consul and then out of the database"),
		r.statusCommand(), r.historyCommand(), r.gcCommand(),
	}
	for _, c := range commands {
		f := c.Flags()
		f.StringVar(&r.server, "server", "http://"+defaultAddr, "`URL` of the daemon (also $"+envServer+")")
		f.StringVar(&r.tokenFile, "token-file", "", "`file` whose first line is the token of the request (also $"+envTokenFile+")")
		f.StringVar(&r.ca, "tls-ca", "", "`file` with the CAs of an https daemon; default: those of this machine")
		f.StringVar(&r.cert, "tls-cert", "", "`file` with the certificate of this client")
		f.StringVar(&r.privateKey, "tls-key", "", "`file` with its key")
		f.BoolVar(&r.json, "json", false, "print JSON")
		c.PreRun = func(c *cobra.Command, _ []string) {
			fallBack(c, "server", &r.server, envServer)
			fallBack(c, "token-file", &r.tokenFile, envTokenFile)
		}
		root.AddCommand(c)
	}
}

func (r *remote) triggerFlags(c *cobra.Command) {
	c.Flags().StringVar(&r.key, "key", "", "makes it safe to repeat: the same key is answered like the first time")
	c.Flags().StringVar(&r.correlation, "correlation", "", "correlation id, a UUID")
}

func (r *remote) bare(name, short string) *cobra.Command {
	c := &cobra.Command{
		Use: name + " NODE", Short: short, Args: arguments("node"),
		RunE: func(c *cobra.Command, args []string) error { return r.trigger(c.Context(), args[0], name, nil) },
	}
	r.triggerFlags(c)
	return c
}

func (r *remote) withEvent(name, short string) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use: name + " NODE --event FILE", Short: short, Args: arguments("node"),
		Long: short + ".\n\nThe event is JSON: " + `{"envelope": {"correlation_id": "…"}, "payload": {"deployment_id": "…", "environment": "…",
"network_id": "…", "consul_service_id": "…", "consul_service_name": "…", "postgres_record": {…},
"consul_tags": ["…"], "consul_health_check": {"ttl": "60s"}}}; envelope, tags and check may be left out.`,
		RunE: func(c *cobra.Command, args []string) error {
			event, err := r.read(file)
			if err != nil {
				return usageError{err}
			}
			return r.trigger(c.Context(), args[0], name, event)
		},
	}
	c.Flags().StringVar(&file, "event", "", "`file` with the event; -: standard input")
	r.triggerFlags(c)
	return c
}

func (r *remote) read(file string) ([]byte, error) {
	switch file {
	case "":
		return nil, errors.New("which event? say --event FILE")
	case "-":
		return io.ReadAll(r.in)
	}
	return os.ReadFile(file)
}

func (r *remote) trigger(ctx context.Context, node, name string, body []byte) error {
	var a registration.Accepted
	if err := r.ask(ctx, http.MethodPost, "/v1/nodes/"+url.PathEscape(node)+"/"+name, body, &a); err != nil || r.json {
		return err
	}
	_, err := fmt.Fprintf(r.out, "node %s is %s\n  registration  %s\n  correlation   %s\n", a.NodeID, a.State, a.RegistrationID, a.CorrelationID)
	return err
}

func (r *remote) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status NODE", Short: "Say where a node's last registration is, and what is there of it", Args: arguments("node"),
		RunE: func(c *cobra.Command, args []string) error {
			var s registration.Status
			if err := r.ask(c.Context(), http.MethodGet, "/v1/nodes/"+url.PathEscape(args[0])+"/status", nil, &s); err != nil || r.json {
				return err
			}
			return r.printStatus(s)
		},
	}
}

func (r *remote) printStatus(s registration.Status) error {
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "node %s is %s since %s\n", s.NodeID, s.State, s.EnteredAt.Format(time.RFC3339))
	fmt.Fprintf(w, "  registration\t%s\n  correlation\t%s\n  daemon\t%s\n", s.RegistrationID, s.CorrelationID, s.Daemon)
	fmt.Fprintf(w, "  row\t%s\n  service\t%s\n  retries\t%d\n", there(s.Row), there(s.Service), s.RetryCount)
	for _, e := range []struct{ name, text string }{
		{"validation", s.ValidationError.V}, {"postgres", s.PostgresError.V}, {"consul", s.ConsulError.V},
	} {
		if e.text != "" {
			fmt.Fprintf(w, "  %s error\t%s\n", e.name, e.text)
		}
	}
	return w.Flush()
}

func there(is *bool) string {
	switch {
	case is == nil:
		return "unknown"
	case *is:
		return "there"
	}
	return "not there"
}

func (r *remote) historyCommand() *cobra.Command {
	return &cobra.Command{
		Use: "history NODE", Short: "List the steps of a node's last registration", Args: arguments("node"),
		RunE: func(c *cobra.Command, args []string) error {
			var steps []registration.Step
			if err := r.ask(c.Context(), http.MethodGet, "/v1/nodes/"+url.PathEscape(args[0])+"/history", nil, &steps); err != nil || r.json {
				return err
			}
			w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
			fmt.Fprintln(w, "VERSION\tAT\tEVENT\tTRANSITION\tSTATE\tBY")
			for _, x := range steps {
				fmt.Fprintf(w, "%d\t%s\t%s\t%s\t%s\t%s\n", x.Version, x.At.Format(time.RFC3339Nano), x.Event, x.Transition, x.To, x.By)
			}
			return w.Flush()
		},
	}
}

func (r *remote) gcCommand() *cobra.Command {
	return &cobra.Command{
		Use: "gc", Short: "Run the collectors now", Args: arguments(),
		RunE: func(c *cobra.Command, _ []string) error {
			var done registration.Collected
			if err := r.ask(c.Context(), http.MethodPost, "/v1/gc", nil, &done); err != nil || r.json {
				return err
			}
			_, err := fmt.Fprintf(r.out, "%d rows, %d services, %d checks and %d sessions removed; %d deregistrations begun\n",
				len(done.Rows), len(done.Services), len(done.Checks), len(done.Sessions), len(done.Deregistered))
			return err
		},
	}
}

// ask sends a request; what it answers is decoded, or printed as it is.
func (r *remote) ask(ctx context.Context, method, path string, body []byte, into any) error {
	q, err := http.NewRequestWithContext(ctx, method, r.server+path, bytes.NewReader(body))
	if err != nil {
		return usageError{fmt.Errorf("--server: %w", err)}
	}
	for name, value := range map[string]string{httpapi.HeaderKey: r.key, httpapi.HeaderCorrelation: r.correlation} {
		if value != "" {
			q.Header.Set(name, value)
		}
	}
	if r.tokenFile != "" {
		token, err := daemon.Token(r.tokenFile)
		if err != nil {
			return usageError{err}
		}
		q.Header.Set("Authorization", "Bearer "+token)
	}
	client, err := r.client()
	if err != nil {
		return usageError{err}
	}
	defer client.CloseIdleConnections()
	a, err := client.Do(q)
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	defer func() { _ = a.Body.Close() }() // it was read
	text, err := io.ReadAll(a.Body)
	if err != nil {
		return fmt.Errorf("ask the daemon: %w", err)
	}
	if a.StatusCode != http.StatusOK {
		return r.refused(text, a.Status)
	}
	if r.json {
		_, err := r.out.Write(text)
		return err
	}
	return json.Unmarshal(text, into)
}

// client speaks TLS as the flags say. It follows no redirection, so that the token
// goes nowhere else.
func (r *remote) client() (*http.Client, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if r.ca != "" {
		pool, err := daemon.Authorities(r.ca)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		c.RootCAs = pool
	}
	if r.cert != "" || r.privateKey != "" {
		pair, err := tls.LoadX509KeyPair(r.cert, r.privateKey)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert, --tls-key: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return &http.Client{
		Transport:     &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: c},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func (r *remote) refused(text []byte, status string) error {
	var f httpapi.Failure
	if json.Unmarshal(text, &f) != nil || f.Code == "" {
		return fmt.Errorf("the daemon answered %s", status)
	}
	if r.json {
		if _, err := r.out.Write(text); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %s", f.Code, f.Message)
}
