package consul

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"time"
)

// Options configures a Client. The zero value is the agent of this machine, without ACLs.
type Options struct {
	// Address is the URL of the agent's HTTP API. Default:
	// http://127.0.0.1:8500.
	Address string
	// Token is sent with every request. Default: none, which is Consul's
	// anonymous token.
	Token string
	// TLS is used for an https Address. Default: the CAs of this machine, no
	// client certificate.
	TLS *tls.Config
	// Timeout bounds each request, from dialling to the last byte of the answer.
	// A call makes one to four. Default: 5 s.
	Timeout time.Duration
}

func (o Options) withDefaults() Options {
	if o.Address == "" {
		o.Address = "http://127.0.0.1:8500"
	}
	if o.Timeout == 0 {
		o.Timeout = 5 * time.Second
	}
	return o
}

// validate returns Address as a URL, or an error for invalid options.
func (o Options) validate() (*url.URL, error) {
	if o.Timeout < 0 {
		return nil, errors.New("the timeout must not be negative")
	}
	if !fitsHeader(o.Token) {
		return nil, errors.New("the token has characters that an HTTP header can't have")
	}
	u, err := url.Parse(o.Address)
	switch {
	case err != nil:
		return nil, withoutURL(err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errNoHost
	case u.User != nil || u.RawQuery != "":
		return nil, errors.New("the address must not have a token or a query: use FromURL")
	}
	return u, nil
}

var errNoHost = errors.New("the address must be a URL like http://HOST:PORT or https://HOST:PORT")

// FromURL returns the Options in a URL, with the token as its password:
//
//	http://:TOKEN@HOST:PORT
//
// Characters with a meaning in URLs are escaped with %. The token may be missing. FromURL returns an
// error if the text is not such a URL. The error does not contain the URL, which has a secret.
func FromURL(text string) (Options, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Options{}, withoutURL(err)
	}
	var o Options
	if u.User != nil {
		o.Token, _ = u.User.Password() // "" if there is none
	}
	u.User = nil
	o.Address = u.String()
	_, err = o.validate()
	return o, err
}

func withoutURL(err error) error {
	var parse *url.Error
	if errors.As(err, &parse) {
		err = parse.Err
	}
	return fmt.Errorf("the address is not a URL: %w", err)
}
