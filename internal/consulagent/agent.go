package consulagent

import (
	"net/http"
	"sync"
	"time"
)

// Options are what an Agent can be told.
type Options struct {
	// Token switches ACLs on, by deny: it may do everything, no token nothing,
	// and another one is unknown. Default: ACLs are off.
	Token string
	// Now tells the time. Default: time.Now.
	Now func() time.Time
}

// NodeName is the node of the agent itself.
const NodeName = "in-process"

// Agent is an http.Handler. It is safe for concurrent use.
type Agent struct {
	o   Options
	mux *http.ServeMux

	mu       sync.Mutex
	nodes    map[string]*node // of the catalog, this agent's among them
	sessions []session
}

// New makes an agent that has no services.
func New(o Options) *Agent {
	if o.Now == nil {
		o.Now = time.Now
	}
	a := &Agent{o: o, mux: http.NewServeMux(), nodes: map[string]*node{NodeName: newNode("127.0.0.1")}}
	for pattern, handler := range map[string]func(*Agent, call){
		"PUT /v1/agent/service/register":           (*Agent).registerService,
		"PUT /v1/agent/service/deregister/{id...}": (*Agent).deregisterService,
		"GET /v1/agent/service/{id...}":            (*Agent).service,
		"PUT /v1/agent/check/update/{id...}":       (*Agent).updateCheck,
		"PUT /v1/agent/check/deregister/{id...}":   (*Agent).deregisterCheck,
		"GET /v1/catalog/services":                 (*Agent).catalogServices,
		"PUT /v1/catalog/register":                 (*Agent).catalogRegister,
		"PUT /v1/catalog/deregister":               (*Agent).catalogDeregister,
		"GET /v1/catalog/nodes":                    (*Agent).catalogNodes,
		"GET /v1/health/service/{name...}":         (*Agent).healthService,
		"GET /v1/health/node/{name...}":            (*Agent).healthNode,
		"GET /v1/health/state/any":                 (*Agent).healthState,
		"PUT /v1/session/create":                   (*Agent).createSession,
		"PUT /v1/session/destroy/{id}":             (*Agent).destroySession,
		"GET /v1/session/list":                     (*Agent).listSessions,
	} {
		a.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { a.serve(w, r, handler) })
	}
	return a
}

// ServeHTTP answers a request.
func (a *Agent) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// serve answers one request at a time.
func (a *Agent) serve(w http.ResponseWriter, r *http.Request, handler func(*Agent, call)) {
	const maxRequest = 8 << 20
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	c := call{w: w, r: r, allowed: true}
	if a.o.Token != "" {
		switch r.Header.Get("X-Consul-Token") {
		case a.o.Token:
		case "":
			c.allowed = false
		default:
			c.fail(http.StatusForbidden, "ACL not found")
			return
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	handler(a, c)
}
