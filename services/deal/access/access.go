// Package access says who is calling: a bearer token names the caller and what the platform lets the
// caller be. Nothing in the body of a request does.
//
// A token is a JSON Web Token (RFC 7519), signed with HMAC-SHA-256 by a key of a file. The first key
// of the file signs, and each of them is accepted: so a key is replaced by adding the new one before
// it, and taken out when the last token that it signed has expired.
package access

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fsmgen/fsmgen/services/internal/secretfile"
)

// Caller is who a token names.
type Caller struct {
	// ID is the number of the user, 1 and up, as deals have it in advertiser_id and owner_id.
	ID int64
	// Operator is set for an operator of the platform.
	Operator bool
	// AdminOf are the owners whose channels the caller administers: no field of a deal names its
	// admins (F-003-21).
	AdminOf []int64
}

// Administers reports whether the caller is an admin of the channel of an owner.
func (c Caller) Administers(owner int64) bool { return slices.Contains(c.AdminOf, owner) }

// claims are those of a token.
type claims struct {
	jwt.RegisteredClaims
	Operator bool    `json:"operator,omitempty"`
	AdminOf  []int64 `json:"admin_of,omitempty"`
}

// Config says which tokens are accepted.
type Config struct {
	// KeyFile has the keys, one a line, of 32 characters at least. It is read again when it changes.
	KeyFile string
	// Audience is what a token must be for: the name of the service.
	Audience string
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Tokens signs and accepts tokens. It is safe for concurrent use.
type Tokens struct {
	config Config
	keys   *secretfile.File
	parser *jwt.Parser
}

// ErrToken is returned for a token that is not accepted: its signature, its time, what it is for, or
// who it names is wrong.
var ErrToken = errors.New("the token is not accepted")

// minKey is how many characters a key has at least: HMAC-SHA-256 wants a key as long as its hash
// (RFC 7518, section 3.2).
const minKey = 32

const makeKey = "make one with openssl rand -hex 32"

// New reads the keys.
func New(c Config) (*Tokens, error) {
	if c.Audience == "" {
		return nil, errors.New("access: tokens need an audience")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	keys, err := secretfile.Open(c.KeyFile, func(key string) error {
		if len(key) < minKey {
			return fmt.Errorf("a key has fewer than %d characters: "+makeKey, minKey)
		}
		return nil
	})
	if errors.Is(err, secretfile.ErrEmpty) {
		err = fmt.Errorf("%w: "+makeKey, err)
	}
	if err != nil {
		return nil, fmt.Errorf("key file of tokens %w", err)
	}
	return &Tokens{config: c, keys: keys, parser: jwt.NewParser(
		jwt.WithValidMethods([]string{jwt.SigningMethodHS256.Alg()}), jwt.WithAudience(c.Audience),
		jwt.WithExpirationRequired(), jwt.WithTimeFunc(c.Now), jwt.WithStrictDecoding(),
	)}, nil
}

// Sign returns a token for a caller that is accepted until a time.
func (t *Tokens) Sign(c Caller, until time.Time) (string, error) {
	keys, err := t.keys.Secrets()
	if err != nil {
		return "", fmt.Errorf("key file of tokens %w", err)
	}
	return jwt.NewWithClaims(jwt.SigningMethodHS256, claims{
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: strconv.FormatInt(c.ID, 10), Audience: jwt.ClaimStrings{t.config.Audience},
			IssuedAt: jwt.NewNumericDate(t.config.Now()), ExpiresAt: jwt.NewNumericDate(until),
		},
		Operator: c.Operator, AdminOf: c.AdminOf,
	}).SignedString([]byte(keys[0]))
}

// Caller returns who a token names. The error is [ErrToken] for a token that is not accepted, and
// another one if the keys can't be read.
func (t *Tokens) Caller(token string) (Caller, error) {
	keys, err := t.keys.Secrets()
	if err != nil {
		return Caller{}, fmt.Errorf("key file of tokens %w", err)
	}
	set := jwt.VerificationKeySet{}
	for _, k := range keys {
		set.Keys = append(set.Keys, []byte(k))
	}
	var c claims
	if _, err := t.parser.ParseWithClaims(token, &c, func(*jwt.Token) (any, error) { return set, nil }); err != nil {
		return Caller{}, fmt.Errorf("%w: %w", ErrToken, err)
	}
	id, err := strconv.ParseInt(c.Subject, 10, 64)
	if err != nil || id < 1 {
		return Caller{}, fmt.Errorf("%w: its subject %q is not the number of a user", ErrToken, c.Subject)
	}
	return Caller{ID: id, Operator: c.Operator, AdminOf: c.AdminOf}, nil
}
