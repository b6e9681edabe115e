package s3

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
)

// Options configures a Store. The zero value is AWS, without credentials.
type Options struct {
	// Endpoint is the URL of the service. Default: that of AWS for the region.
	Endpoint string
	// Region is part of every signature. Default: us-east-1.
	Region string
	// Credentials sign the requests. Default: none, for public buckets.
	Credentials aws.CredentialsProvider
	// PathStyle puts the bucket into the path instead of the host name, as most endpoints other
	// than AWS require.
	PathStyle bool
	// HTTPClient sends the requests. Default: a client with limits of ten seconds for connecting
	// and for the handshake. It must not limit the time of a whole request, since objects are
	// large.
	HTTPClient *http.Client
	// StallTimeout is how long an attempt may go without an answer, or without a byte of the body,
	// before it is cancelled. Default: 30 seconds.
	StallTimeout time.Duration
	// Attempts is how many attempts in a row may fail. An attempt that read eight megabytes does
	// not count. Default: 8.
	Attempts int
	// Pause blocks before the next attempt; failed is how many attempts in a row have failed, from 1.
	// If it returns an error, Fetch returns that error. Default: Backoff.
	Pause func(ctx context.Context, failed int) error
}

func (o Options) withDefaults() Options {
	if o.Region == "" {
		o.Region = "us-east-1"
	}
	if o.Credentials == nil {
		o.Credentials = aws.AnonymousCredentials{}
	}
	if o.StallTimeout == 0 {
		o.StallTimeout = 30 * time.Second
	}
	if o.HTTPClient == nil {
		o.HTTPClient = newHTTPClient()
	}
	if o.Attempts == 0 {
		o.Attempts = 8
	}
	if o.Pause == nil {
		o.Pause = Backoff
	}
	return o
}

var errNoHost = errors.New("the endpoint must be a URL like https://HOST or http://HOST:PORT")

func (o Options) validate() error {
	if o.StallTimeout < 0 || o.Attempts < 0 {
		return errors.New("StallTimeout and Attempts must not be negative")
	}
	if o.Endpoint == "" {
		return nil
	}
	u, err := url.Parse(o.Endpoint)
	switch {
	case err != nil:
		return withoutURL(err)
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errNoHost
	case u.User != nil || u.RawQuery != "":
		return errors.New("the endpoint must not have credentials or a query: use FromURL")
	}
	return nil
}

// newHTTPClient returns a client without a limit for a whole request: StallTimeout limits it. The
// client does not decompress. Otherwise an object stored with Content-Encoding gzip would have
// another length and checksum.
func newHTTPClient() *http.Client {
	return &http.Client{Transport: &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second,
		IdleConnTimeout:     90 * time.Second,
		MaxIdleConnsPerHost: 32,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
	}}
}

// FromURL returns the Options in a URL, with path style:
//
//	http://ACCESS:SECRET@HOST:PORT?region=REGION
//
// Characters with a meaning in URLs are escaped with %. User and region may be missing. FromURL
// returns an error if the text is not such a URL. The error does not contain the URL, which has a
// secret.
func FromURL(text string) (Options, error) {
	u, err := url.Parse(text)
	if err != nil {
		return Options{}, withoutURL(err)
	}
	if u.Host == "" {
		return Options{}, errNoHost
	}
	o := Options{Region: u.Query().Get("region"), PathStyle: true}
	if u.User != nil {
		secret, _ := u.User.Password() // an empty one is refused by the endpoint
		o.Credentials = credentials.NewStaticCredentialsProvider(u.User.Username(), secret, "")
	}
	u.User, u.RawQuery = nil, ""
	o.Endpoint = u.String()
	return o, o.validate()
}

func withoutURL(err error) error {
	var parse *url.Error
	if errors.As(err, &parse) {
		err = parse.Err
	}
	return fmt.Errorf("the endpoint is not a URL: %w", err)
}

// Backoff blocks for a random time before the next attempt: at most 0.2 seconds after the first
// failure, twice as long after each further one, but at most 10 seconds, and at least half of that.
// It returns the cause of ctx if that ends.
func Backoff(ctx context.Context, failed int) error {
	const first, longest = 200 * time.Millisecond, 10 * time.Second
	pause := min(first<<min(failed-1, 16), longest)
	timer := time.NewTimer(pause - rand.N(pause/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
