package registration

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/generated/registration"
	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// What Consul and the columns take.
const (
	maxName     = 128
	maxText     = 255
	maxTags     = 64
	maxTagBytes = 16 << 10
	minTTL      = 3 * time.Second
	maxTTL      = 24 * time.Hour
)

var (
	serviceName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$`)
	serviceID   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.:-]*[A-Za-z0-9])?$`)
)

// storable reports whether every database can hold a text.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Plain reports whether a text can be a name in a URL, a log line and a label.
func Plain(s string) bool {
	return s != "" && len(s) <= maxText && storable(s) && strings.IndexFunc(s, unicode.IsControl) < 0
}

// problem is what is wrong with a payload.
type problem struct {
	kind registration.ValidationErrorType
	text string
}

func (p *problem) answer() registration.ValidationFailed {
	return registration.ValidationFailed{
		ValidationResult: registration.ValidationOutcomeFailed, ValidationErrorType: p.kind, ValidationError: p.text,
	}
}

// validate looks for the first thing that is wrong with a payload; nil: nothing.
func validate(e registration.ValidatePayloadEffect) *problem {
	if p := missing(e); p != nil {
		return p
	}
	invalid := func(format string, args ...any) *problem {
		return &problem{registration.ValidationErrorTypeInvalid, fmt.Sprintf(format, args...)}
	}
	for _, f := range []struct{ name, value string }{
		{"node_id", e.NodeID}, {"deployment_id", e.DeploymentID.V}, {"environment", e.Environment.V}, {"network_id", e.NetworkID.V},
	} {
		if !Plain(f.value) {
			return invalid("%s is not a text of 1 to %d bytes without control characters", f.name, maxText)
		}
	}
	if id := e.ConsulServiceID.V; len(id) > maxName || !serviceID.MatchString(id) {
		return invalid("consul_service_id is not a name of up to %d letters, digits and _ . : -", maxName)
	}
	if name := e.ConsulServiceName.V; len(name) > maxName || !serviceName.MatchString(name) {
		return invalid("consul_service_name is not a name of up to %d letters, digits and _ . -", maxName)
	}
	total := 0
	for i, tag := range e.ConsulTags.V {
		total += len(tag)
		if !Plain(tag) {
			return invalid("consul_tags[%d] is not a text of 1 to %d bytes without control characters", i, maxText)
		}
	}
	if len(e.ConsulTags.V) > maxTags || total > maxTagBytes {
		return invalid("consul_tags are %d with %d bytes, more than %d with %d", len(e.ConsulTags.V), total, maxTags, maxTagBytes)
	}
	if _, err := ttlOf(e.ConsulHealthCheck, 0); err != nil {
		return invalid("consul_health_check %s", err)
	}
	return nil
}

// missing looks for required data (document 001, State Details, validating).
func missing(e registration.ValidatePayloadEffect) *problem {
	for _, f := range []struct {
		name string
		is   bool
	}{
		{"node_id", e.NodeID != ""}, {"deployment_id", e.DeploymentID.IsSet}, {"environment", e.Environment.IsSet}, {"network_id", e.NetworkID.IsSet},
		{"consul_service_id", e.ConsulServiceID.IsSet}, {"consul_service_name", e.ConsulServiceName.IsSet}, {"postgres_record", e.PostgresRecord.IsSet},
	} {
		if !f.is {
			return &problem{registration.ValidationErrorTypeMissing, f.name + " is missing"}
		}
	}
	return nil
}

// ttlOf reads a health check: {"ttl": "60s"}, the only kind that a daemon can
// answer for. Absent, or without a ttl: the default.
func ttlOf(check fsm.Optional[fsm.JSON], byDefault time.Duration) (time.Duration, error) {
	if !check.IsSet {
		return byDefault, nil
	}
	var c struct {
		TTL *string `json:"ttl"`
	}
	d := json.NewDecoder(strings.NewReader(string(check.V)))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil || !strings.HasPrefix(string(check.V), "{") {
		return 0, fmt.Errorf(`is not an object {"ttl": DURATION}`)
	}
	if c.TTL == nil {
		return byDefault, nil
	}
	ttl, err := time.ParseDuration(*c.TTL)
	if err != nil || ttl < minTTL || ttl > maxTTL {
		return 0, fmt.Errorf("has the ttl %q, not one between %s and %s", fsm.Message(*c.TTL, 40), minTTL, maxTTL)
	}
	return ttl, nil
}
