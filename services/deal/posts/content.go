package posts

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// contentOf returns the content of a post: the creative of its deal as compact JSON, with the members
// of objects in the order of their names. PostgreSQL orders them in its own way when a creative is
// stored, and a creative is one post whether or not it was stored.
func contentOf(creative fsm.Optional[fsm.JSON]) ([]byte, error) {
	if !creative.IsSet || creative.V == "" {
		return nil, fmt.Errorf("%w: the deal has no creative", ErrRefused)
	}
	decoder := json.NewDecoder(bytes.NewReader([]byte(creative.V)))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("%w: the creative is no JSON: %w", ErrRefused, err)
	}
	var content bytes.Buffer
	encoder := json.NewEncoder(&content)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		return nil, fmt.Errorf("%w: the creative: %w", ErrRefused, err)
	}
	return bytes.TrimSuffix(content.Bytes(), []byte("\n")), nil
}
