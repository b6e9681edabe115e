package httpapi

import (
	"errors"
	"strconv"
	"strings"

	"github.com/fsmgen/fsmgen/services/registration"
)

// etag is the entity tag of a registration at a version.
func etag(registrationID string, version int64) string {
	return strconv.Quote(registrationID + ":" + strconv.FormatInt(version, 10))
}

var (
	errMatch         = errors.New(`If-Match is not one ETag of a status, as in If-Match: "0197…:3"`)
	errMatchRegister = errors.New("If-Match does not go with register, which begins a registration: leave it out")
)

// parseETag reads the values of If-Match: one strong tag, of ours.
func parseETag(values []string) (*registration.Seen, error) {
	if len(values) != 1 {
		return nil, errMatch
	}
	text, err := strconv.Unquote(strings.TrimSpace(values[0]))
	id, version, found := strings.Cut(text, ":")
	if err != nil || !found {
		return nil, errMatch
	}
	n, err := strconv.ParseInt(version, 10, 64)
	if err != nil || n < 1 {
		return nil, errMatch
	}
	return &registration.Seen{RegistrationID: id, Version: n}, nil
}
