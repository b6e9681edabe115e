package scenarios

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
)

// standards are tables of published standards.
const standards = "../../../gen/testdata/standards"

// TestStandardsAreReached: the search finds the transitions of tables that
// were not written for it. What it does not find is known by name.
func TestStandardsAreReached(t *testing.T) {
	known := map[string]string{
		"ppp_lcp": "no_peer from Ack_Rcvd", // who gets there has all its restarts
		// What is due is done before a caller comes: the deadline of the hold is earlier.
		"bgp_peer": "stale_keepalive from OpenConfirm, stale_keepalive from Established",
	}
	paths, err := filepath.Glob(filepath.Join(standards, "*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, err := Load(standards, name)
			if err != nil {
				t.Fatal(err)
			}
			_, missing, _ := c.Search()
			var list []string
			for _, r := range missing {
				list = append(list, r.Text+" from "+r.From.Text)
			}
			if got := strings.Join(list, ", "); got != known[name] {
				t.Errorf("no scenario takes %q, want %q", got, known[name])
			}
		})
	}
}

// TestMarkedTextsStayEqual: a text that a guard compares with a field is the same
// in the payload as in the record, though the field alone has little room.
func TestMarkedTextsStayEqual(t *testing.T) {
	c, err := Load(standards, "device_grant")
	if err != nil {
		t.Fatal(err)
	}
	found, _, _ := c.Search()
	compared := 0
	for _, s := range found {
		script, err := c.Script(s, "tag", epoch)
		if err != nil {
			t.Fatal(err)
		}
		code, entered := "", ""
		for i, row := range s.Takes {
			switch row.Text {
			case "requested":
				code = textOf(t, script, row.Event.Text, "user_code")
			case "approved":
				entered = textOf(t, script, s.Takes[i].Event.Text, "entered_code")
			}
		}
		if entered != "" {
			compared++
			if code != entered || len(code) > 9 {
				t.Errorf("scenario %s: the code is %q, and %q is entered", s.Name, code, entered)
			}
		}
	}
	if compared == 0 {
		t.Error("no scenario approves")
	}
}

// textOf is what the last step of a script with an event has in a field.
func textOf(t *testing.T, s Script, event, field string) (text string) {
	t.Helper()
	for _, st := range s.Steps {
		if st.Event == nil || st.Event.Name != event {
			continue
		}
		var payload map[string]any
		if err := json.Unmarshal(st.Event.Payload, &payload); err != nil {
			t.Fatal(err)
		}
		text, _ = payload[field].(string)
	}
	return text
}
