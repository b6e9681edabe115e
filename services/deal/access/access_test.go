package access_test

import (
	"encoding/base64"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/fsmgen/fsmgen/services/deal/access"
)

var (
	now    = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	oldKey = strings.Repeat("old ", 8)[:31] + "!"
	newKey = strings.Repeat("new!", 8)
)

func keyFile(t *testing.T, keys ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(name, []byte(strings.Join(keys, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func open(t *testing.T, audience string, at time.Time, keys ...string) *access.Tokens {
	t.Helper()
	tokens, err := access.New(access.Config{KeyFile: keyFile(t, keys...), Audience: audience, Now: func() time.Time { return at }})
	if err != nil {
		t.Fatal(err)
	}
	return tokens
}

func sign(t *testing.T, tokens *access.Tokens, c access.Caller) string {
	t.Helper()
	token, err := tokens.Sign(c, now.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// TestCaller: a token says of its caller what was signed, and goes on to when its key is no longer
// the first.
func TestCaller(t *testing.T) {
	t.Parallel()
	want := access.Caller{ID: 7, Operator: true, AdminOf: []int64{12, 1 << 60}}
	token := sign(t, open(t, "deald", now, oldKey), want)
	got, err := open(t, "deald", now, newKey, oldKey).Caller(token)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if !got.Administers(12) || got.Administers(7) {
		t.Errorf("%+v administers the wrong channels", got)
	}
}

// TestBadTokens: none is accepted, and none says who it names.
func TestBadTokens(t *testing.T) {
	t.Parallel()
	good := sign(t, open(t, "deald", now, oldKey), access.Caller{ID: 7})
	parts := strings.Split(good, ".")
	signed := func(method jwt.SigningMethod, key any, c jwt.MapClaims) string {
		token, err := jwt.NewWithClaims(method, c).SignedString(key)
		if err != nil {
			t.Fatal(err)
		}
		return token
	}
	later := now.Add(time.Hour).Unix()
	for name, token := range map[string]string{
		"nothing":            "",
		"no token":           "7",
		"another key":        sign(t, open(t, "deald", now, newKey), access.Caller{ID: 7}),
		"another audience":   sign(t, open(t, "shop", now, oldKey), access.Caller{ID: 7}),
		"user 0":             sign(t, open(t, "deald", now, oldKey), access.Caller{}),
		"a name":             signed(jwt.SigningMethodHS256, []byte(oldKey), jwt.MapClaims{"sub": "admin", "aud": "deald", "exp": later}),
		"for ever":           signed(jwt.SigningMethodHS256, []byte(oldKey), jwt.MapClaims{"sub": "7", "aud": "deald"}),
		"not yet":            signed(jwt.SigningMethodHS256, []byte(oldKey), jwt.MapClaims{"sub": "7", "aud": "deald", "exp": later, "nbf": later}),
		"another method":     signed(jwt.SigningMethodHS512, []byte(oldKey), jwt.MapClaims{"sub": "7", "aud": "deald", "exp": later}),
		"no signature":       signed(jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, jwt.MapClaims{"sub": "7", "aud": "deald", "exp": later}),
		"changed afterwards": parts[0] + "." + base64.RawURLEncoding.EncodeToString([]byte(`{"sub":"8","aud":["deald"],"exp":9999999999}`)) + "." + parts[2],
	} {
		c, err := open(t, "deald", now, oldKey).Caller(token)
		if !errors.Is(err, access.ErrToken) || c.ID != 0 {
			t.Errorf("%s: got %+v, %v", name, c, err)
		}
	}
	if _, err := open(t, "deald", now.Add(time.Hour), oldKey).Caller(good); !errors.Is(err, access.ErrToken) {
		t.Errorf("an expired token: %v", err)
	}
}

// TestBadKeys: a file that can't be used says why.
func TestBadKeys(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config access.Config
		want   string
	}{
		"none":        {access.Config{KeyFile: keyFile(t), Audience: "deald"}, "openssl rand -hex 32"},
		"short":       {access.Config{KeyFile: keyFile(t, "secret"), Audience: "deald"}, "fewer than 32 characters"},
		"no file":     {access.Config{KeyFile: filepath.Join(t.TempDir(), "missing"), Audience: "deald"}, "no such file"},
		"no audience": {access.Config{KeyFile: keyFile(t, oldKey)}, "audience"},
	} {
		if _, err := access.New(c.config); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeysThatGoAway: without its keys no token is accepted, and the error is not that of a bad one.
func TestKeysThatGoAway(t *testing.T) {
	t.Parallel()
	file := keyFile(t, oldKey)
	tokens, err := access.New(access.Config{KeyFile: file, Audience: "deald", Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	token := sign(t, tokens, access.Caller{ID: 7})
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, err := tokens.Caller(token); err == nil || errors.Is(err, access.ErrToken) {
		t.Errorf("got %v", err)
	}
}
