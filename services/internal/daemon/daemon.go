package daemon

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
)

// Server is a listening daemon.
type Server struct {
	options  Options
	tokens   *tokens // nil: none is asked for
	listener net.Listener
	server   *http.Server
	log      *slog.Logger
}

// Listen begins to listen. Requests wait for Serve.
func Listen(o Options, log *slog.Logger) (*Server, error) {
	o = o.withDefaults()
	d := &Server{options: o, log: log}
	address, err := o.address()
	if err != nil {
		return nil, err
	}
	secure, err := o.tls()
	if err != nil {
		return nil, err
	}
	if o.TokenFile != "" {
		if d.tokens, err = readTokens(o.TokenFile); err != nil {
			return nil, err
		}
	}
	l, err := net.ListenTCP("tcp", address)
	if err != nil {
		return nil, err
	}
	d.listener = limit(l, o.Connections)
	if secure != nil {
		d.listener = tls.NewListener(d.listener, secure)
	}
	d.server = &http.Server{
		ReadHeaderTimeout: o.Timeouts.Header, ReadTimeout: o.Timeouts.Read, WriteTimeout: o.Timeouts.Write, IdleTimeout: o.Timeouts.Idle,
		MaxHeaderBytes: o.MaxHeader, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	return d, nil
}

// Addr is where the daemon listens.
func (d *Server) Addr() net.Addr { return d.listener.Addr() }

// Serve answers requests by h, as far as they may come in, until Shutdown. It
// returns nil then.
func (d *Server) Serve(h http.Handler) error {
	d.server.Handler = d.Guard(h)
	if err := d.server.Serve(d.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// Shutdown takes no more requests and waits for those that are under way, until ctx
// ends: they are cut short then.
func (d *Server) Shutdown(ctx context.Context) error {
	_ = d.listener.Close() // Serve may not have begun, and closes it else
	err := d.server.Shutdown(ctx)
	if err != nil {
		err = errors.Join(err, d.server.Close())
	}
	return err
}
