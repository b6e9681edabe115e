package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/fsmgen/fsmgen/adapters/object"
)

// refill is how much an attempt must read so that it does not count as failed. A large object over a
// bad network needs many attempts, an endpoint that does not answer gets few.
const refill = 8 << 20

// Store fetches objects from an S3-compatible endpoint. It is safe for
// concurrent use.
type Store struct {
	client *s3.Client
	o      Options
}

var _ object.Objects = (*Store)(nil)

// New returns a Store. It sends no request.
func New(o Options) (*Store, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("open the object store: %w", err)
	}
	o = o.withDefaults()
	options := s3.Options{
		Region:       o.Region,
		Credentials:  o.Credentials,
		UsePathStyle: o.PathStyle,
		HTTPClient:   o.HTTPClient,
		// Attempts are counted here, where it is known what they brought.
		Retryer: aws.NopRetryer{},
		// The ranges of a resumed object have no checksum of their own.
		ResponseChecksumValidation: aws.ResponseChecksumValidationWhenRequired,
	}
	if o.Endpoint != "" {
		options.BaseEndpoint = &o.Endpoint
	}
	return &Store{client: s3.New(options), o: o}, nil
}

// Fetch implements object.Objects.
func (s *Store) Fetch(ctx context.Context, bucket, key, temp, path string, progress object.Progress) (object.Object, error) {
	fetched, err := s.fetch(ctx, bucket, key, temp, path, progress)
	if err != nil {
		return object.Object{}, fmt.Errorf("fetch object %q of bucket %q: %w", key, bucket, err)
	}
	return fetched, nil
}

func (s *Store) fetch(ctx context.Context, bucket, key, temp, path string, progress object.Progress) (object.Object, error) {
	v, err := s.look(ctx, bucket, key)
	if err != nil {
		return object.Object{}, err
	}
	l, err := land(temp, path, v.size, progress)
	if err != nil {
		return object.Object{}, err
	}
	defer l.abandon()

	err = s.insist(ctx, func() (int64, error) {
		before := l.size
		err := s.read(ctx, v, l)
		return l.size - before, err
	})
	if err != nil {
		return object.Object{}, fmt.Errorf("after %d of %d bytes: %w", l.size, v.size, err)
	}
	fetched, err := l.finish(strings.Trim(v.etag, `"`))
	fetched.Stated = v.sha256
	return fetched, err
}

// version is one version of an object: what every answer about it must match.
type version struct {
	bucket, key string
	size        int64
	etag        string // as the endpoint writes it
	sha256      string // in hex, if the object was stored with one
}

// look asks which version of the object there is.
func (s *Store) look(ctx context.Context, bucket, key string) (version, error) {
	v := version{bucket: bucket, key: key}
	err := s.insist(ctx, func() (int64, error) {
		w := watch(ctx, s.o.StallTimeout)
		defer w.end()
		out, err := s.client.HeadObject(w.ctx, &s3.HeadObjectInput{Bucket: &bucket, Key: &key, ChecksumMode: types.ChecksumModeEnabled})
		if err != nil {
			return 0, w.explain(err)
		}
		v.size, v.etag = aws.ToInt64(out.ContentLength), aws.ToString(out.ETag)
		if out.ContentLength == nil || v.size < 0 || v.etag == "" {
			return 0, errors.New("the endpoint sends no length or no ETag of the object: use an S3-compatible endpoint")
		}
		v.sha256 = stated(out)
		return 0, nil
	})
	return v, err
}

// stated reads the SHA-256 that an object was stored with: the checksum of the
// endpoint, or else the metadata "sha256" of its owner, in hex. The checksum of
// an object that came in parts may be one of checksums, and metadata may mean
// something else: what is no SHA-256 of the whole states nothing.
func stated(out *s3.HeadObjectOutput) string {
	sum, err := base64.StdEncoding.DecodeString(aws.ToString(out.ChecksumSHA256))
	if err != nil || len(sum) != sha256.Size || out.ChecksumType == types.ChecksumTypeComposite {
		sum = nil
	}
	for name, value := range out.Metadata {
		if own, err := hex.DecodeString(value); strings.EqualFold(name, "sha256") && err == nil && len(own) == sha256.Size && sum == nil {
			sum = own
		}
	}
	return hex.EncodeToString(sum)
}

// insist repeats an attempt until it succeeds, fails for good, or has failed
// too often. The attempt says how many bytes it brought.
func (s *Store) insist(ctx context.Context, attempt func() (int64, error)) error {
	for failed := 0; ; {
		brought, err := attempt()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		err, again := classify(err)
		if !again {
			return err
		}
		if brought >= refill {
			failed = 0
		}
		if failed++; failed >= s.o.Attempts {
			return fmt.Errorf("%d attempts in a row failed; fetch it again when the endpoint works: %w", failed, err)
		}
		if err := s.o.Pause(ctx, failed); err != nil {
			return err
		}
	}
}
