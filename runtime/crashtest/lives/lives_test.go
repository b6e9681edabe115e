package lives

import (
	"testing"
	"time"
)

func TestTry(t *testing.T) {
	for _, names := range [][]string{{"upload"}, {"publish"}, {"outbox"}, {"gc"}, {"registration"}, {"wal"}, {"deal"}, {"download", "unpack", "activate"}, {"unpack", "download", "activate"}, {"activate", "download", "unpack"}} {
		start := time.Now()
		c, err := Load("../../../spec", names...)
		if err != nil {
			t.Fatal(err)
		}
		found, missing := c.Search()
		n := 0
		for _, r := range c.Hero().Rows {
			if r.Reject == nil {
				n++
			}
		}
		t.Logf("%s: %d lives, %d of %d rows, missing %v, %s", names[0], len(found), n-len(missing), n, missing, time.Since(start))
	}
}

func TestShow(t *testing.T) {
	c, err := Load("../../../spec", "activate", "unpack", "download")
	if err != nil {
		t.Fatal(err)
	}
	found, _ := c.Search()
	for _, l := range c.Vary(found) {
		s, err := c.Script(l, "t1", epoch)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(l.Name, l.Takes)
		for _, st := range s.Steps {
			if st.Event != nil {
				t.Log("   ", st.Event.Name, string(st.Event.Payload), st.By)
			} else {
				t.Log("   ", st.Wait, st.Mend)
			}
		}
		for k, r := range s.Replies {
			t.Logf("    %s: %+v", k, r)
		}
	}
}
