package consulagent

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// call is a request and its answer.
type call struct {
	w       http.ResponseWriter
	r       *http.Request
	allowed bool // the token may do everything; else it may do nothing
}

// read decodes the body. Consul knows all fields of a registration and refuses
// others; it reads on over those of anything else.
func (c call) read(into any, strict bool) error {
	decoder := json.NewDecoder(c.r.Body)
	if strict {
		decoder.DisallowUnknownFields()
	}
	return decoder.Decode(into)
}

// readOptional decodes a body that may be empty.
func (c call) readOptional(into any) error {
	if err := c.read(into, false); !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}

// permitted answers, unless the token may do what is asked for.
func (c call) permitted(permission string) bool {
	if !c.allowed {
		c.fail(http.StatusForbidden, "Permission denied: Missing %s", permission)
	}
	return c.allowed
}

func (c call) fail(status int, format string, args ...any) {
	c.w.WriteHeader(status)
	fmt.Fprintf(c.w, format, args...)
}

// answer sends a value as JSON.
func (c call) answer(value any) {
	c.w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(c.w).Encode(value) // the client went away
}
