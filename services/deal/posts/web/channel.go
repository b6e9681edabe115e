package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// Channel is a [posts.Channel] behind HTTP. It is safe for concurrent use.
type Channel struct {
	config Config
	base   *url.URL
	client *http.Client
}

var _ posts.Channel = (*Channel)(nil)

// Config configures a Channel.
type Config struct {
	URL string // http or https, without query and fragment
	// Token is sent as bearer token; "": none.
	Token string
	// Timeout of a request with its answer; 0: 10 s.
	Timeout time.Duration
	// Transport carries the requests; nil: http.DefaultTransport.
	Transport http.RoundTripper
}

// New returns the channel behind a URL. It sends nothing.
func New(c Config) (*Channel, error) {
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	base, err := url.Parse(c.URL)
	if err != nil {
		return nil, fmt.Errorf("posts web: the URL of the channel: %w", err)
	}
	switch {
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "" || base.RawQuery != "" || base.Fragment != "":
		return nil, fmt.Errorf("posts web: the URL of the channel is %q: write one like https://host/path", base.Redacted())
	case c.Timeout < 0:
		return nil, fmt.Errorf("posts web: the timeout %s is negative", c.Timeout)
	}
	return &Channel{config: c, base: base, client: &http.Client{
		Transport:     c.Transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}, nil
}

// StatusError is the answer of a server that neither made nor showed a post.
type StatusError struct {
	Method string
	Status int
	Text   string // the beginning of the body
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("%s is answered %d %s: %q", e.Method, e.Status, http.StatusText(e.Status), e.Text)
}

// Publish implements [posts.Channel].
func (c *Channel) Publish(ctx context.Context, key string, content []byte) error {
	if err := posts.CheckPost(key, content); err != nil {
		return err
	}
	err := c.do(ctx, http.MethodPut, key, content, func(answer *http.Response) error {
		switch answer.StatusCode {
		case http.StatusOK, http.StatusCreated, http.StatusNoContent:
			return nil
		}
		return refused(statusError(answer))
	})
	if err != nil {
		return fmt.Errorf("publish %s: %w", key, err)
	}
	return nil
}

// refused says what an answer to PUT means for the post: see the package comment.
func refused(e *StatusError) error {
	switch {
	case e.Status == http.StatusConflict, e.Status == http.StatusUnprocessableEntity:
		return fmt.Errorf("%w: %w", posts.ErrConflict, e)
	case e.Status < 400 || e.Status > 499:
		return e
	}
	switch e.Status {
	case http.StatusUnauthorized, http.StatusProxyAuthRequired, http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		return e
	}
	return fmt.Errorf("%w: %w", posts.ErrRefused, e)
}

// Look implements [posts.Channel].
func (c *Channel) Look(ctx context.Context, key string) (sight posts.Sight, err error) {
	if err := posts.CheckKey(key); err != nil {
		return posts.Sight{}, err
	}
	err = c.do(ctx, http.MethodGet, key, nil, func(answer *http.Response) error {
		switch answer.StatusCode {
		case http.StatusOK:
			sight, err = seen(answer)
			return err
		case http.StatusNotFound, http.StatusGone:
			return nil
		}
		return statusError(answer)
	})
	if err != nil {
		return posts.Sight{}, fmt.Errorf("look at %s: %w", key, err)
	}
	return sight, nil
}

// seen hashes a body. One that is longer than a post may be is not read to its end. Of one that is
// encoded, other than the transport decodes, the bytes are not those of a post.
func seen(answer *http.Response) (posts.Sight, error) {
	if encoding := answer.Header.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return posts.Sight{}, fmt.Errorf("the post comes in the encoding %q, which the request does not accept", encoding)
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(answer.Body, posts.MaxContent+1))
	switch {
	case err != nil:
		return posts.Sight{}, err
	case n > posts.MaxContent:
		return posts.Sight{Seen: true}, nil
	}
	return posts.Sight{Seen: true, Hash: hex.EncodeToString(h.Sum(nil))}, nil
}

func (c *Channel) do(ctx context.Context, method, key string, content []byte, answered func(*http.Response) error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, c.config.Timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, c.base.JoinPath(key).String(), bytes.NewReader(content))
	if err != nil {
		return err
	}
	if method == http.MethodPut {
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Idempotency-Key", key)
	}
	if c.config.Token != "" {
		request.Header.Set("Authorization", "Bearer "+c.config.Token)
	}
	answer, err := c.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, answer.Body.Close()) }()
	return answered(answer)
}

func statusError(answer *http.Response) *StatusError {
	const excerpt = 200
	text, _ := io.ReadAll(io.LimitReader(answer.Body, excerpt)) // what could be read is what can be shown
	return &StatusError{Method: answer.Request.Method, Status: answer.StatusCode, Text: string(text)}
}
