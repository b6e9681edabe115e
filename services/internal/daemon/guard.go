package daemon

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
)

// refusal is the body of an answer to who may not use the API.
type refusal struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refuse(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(refusal{code, message}) // the client went away
}

// Guard lets those requests through to h that may come in.
func (d *Server) Guard(h http.Handler) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, "CROSS_ORIGIN", "a page of another origin may not use this API")
	}))
	return d.named(origins.Handler(d.admitted(h)))
}

// named refuses requests for another host: a name that resolves to this machine is
// not yet one of its names.
func (d *Server) named(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !d.isHost(r) {
			refuse(w, http.StatusMisdirectedRequest, "UNKNOWN_HOST", "the daemon is not known by this host name; its operator may add it with --host")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isHost reports whether r asks for the daemon by a name of its own: localhost, a
// name of Options.Hosts, or the address that the connection came to.
func (d *Server) isHost(r *http.Request) bool {
	host := strings.ToLower(hostOf(r.Host))
	if host == "localhost" || slices.ContainsFunc(d.options.Hosts, func(own string) bool { return strings.EqualFold(own, host) }) {
		return true
	}
	if host == strings.ToLower(hostOf(d.options.Listen)) && host != "" {
		return true
	}
	ip := net.ParseIP(host)
	local, _ := r.Context().Value(http.LocalAddrContextKey).(*net.TCPAddr)
	return ip != nil && local != nil && ip.Equal(local.IP)
}

// hostOf is a host without its port and brackets.
func hostOf(address string) string {
	if host, _, err := net.SplitHostPort(address); err == nil {
		return host
	}
	return strings.Trim(address, "[]")
}

// admitted refuses requests without a token, where one is asked for.
func (d *Server) admitted(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if d.tokens != nil && !slices.Contains(d.options.Public, r.URL.Path) {
			token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
			ok, err := d.tokens.has(token)
			if err != nil {
				d.log.ErrorContext(r.Context(), "the token file can't be read, so every request is refused", "error", err)
			}
			if !bearer || !ok {
				w.Header().Set("WWW-Authenticate", "Bearer")
				refuse(w, http.StatusUnauthorized, "UNAUTHORIZED", "a token is needed: Authorization: Bearer TOKEN")
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}
