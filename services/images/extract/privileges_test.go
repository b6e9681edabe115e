//go:build unix

package extract_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// capNetBind is the capability cap_net_bind_service as the kernel stores it.
const capNetBind = "\x01\x00\x00\x02\x00\x04\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// TestPrivileges: by default no file has more rights than its own. The bits of a
// directory mean something else and stay.
func TestPrivileges(t *testing.T) {
	shared := dir("shared")
	shared.Mode = 0o3775
	members := []member{
		shared, reg("plain", "x"), privileged(reg("suid", "x"), 0o4755, ""), privileged(reg("sgid", "x"), 0o2755, ""),
		privileged(reg("capable", "x"), 0o755, capNetBind), hard("suid2", "suid"),
	}
	root := os.Geteuid() == 0
	for _, tt := range []struct {
		policy   extract.Privileges
		stripped int64
		kept     bool
	}{
		{"", 3, false},
		{extract.StripPrivileges, 3, false},
		{extract.KeepPrivileges, 0, root},
	} {
		into := t.TempDir()
		o := extract.Options{Privileges: tt.policy}
		report, err := extract.Extract(t.Context(), source(archive(members...)), into, o)
		if err != nil || report.Stripped != tt.stripped {
			t.Errorf("%q: %d files were stripped: %v", tt.policy, report.Stripped, err)
		}
		if checked, err := extract.Check(t.Context(), source(archive(members...)), o); err != nil || checked.Stripped != tt.stripped {
			t.Errorf("%q: Check says %d files: %v", tt.policy, checked.Stripped, err)
		}
		for name, bit := range map[string]os.FileMode{"suid": os.ModeSetuid, "suid2": os.ModeSetuid, "sgid": os.ModeSetgid} {
			info, err := os.Stat(filepath.Join(into, name))
			if err != nil || (info.Mode()&bit != 0) != tt.kept || info.Mode().Perm() != 0o755 {
				t.Errorf("%q: the mode of %s is %v: %v", tt.policy, name, info.Mode(), err)
			}
		}
		if got := xattrsOf(t, filepath.Join(into, "capable")); strings.Contains(got, "security.capability") != tt.kept {
			t.Errorf("%q: the attributes of a capable file are%s", tt.policy, got)
		}
		if info, err := os.Stat(filepath.Join(into, "shared")); err != nil || root && info.Mode()&os.ModeSetgid == 0 || info.Mode()&os.ModeSticky == 0 {
			t.Errorf("%q: the mode of a directory is %v: %v", tt.policy, info.Mode(), err)
		}
	}
}

// TestRatio: a packed archive may be as much larger than its packed form as
// allowed, and one that is not packed is no bomb.
func TestRatio(t *testing.T) {
	zeros := archive(reg("zeros", strings.Repeat("\x00", 80<<20)))
	padded := join(archive(reg("a", "x")), make([]byte, 15<<20))
	for name, tt := range map[string]struct {
		bytes []byte
		o     extract.Options
		entry string
	}{
		"gzip":       {gzipped(t, zeros), extract.Options{}, "zeros"},
		"zstd":       {zstandard(t, zeros), extract.Options{}, "zeros"},
		"allowed":    {gzipped(t, zeros), extract.Options{MaxRatio: 2000}, ""},
		"not packed": {zeros, extract.Options{MaxRatio: 1}, ""},
		"small":      {gzipped(t, padded), extract.Options{MaxRatio: 1}, ""},
		"headers":    {gzipped(t, join(raw('0', "first", "", "0", ""), longHeaders(), end)), extract.Options{MaxHeader: 1 << 30}, "first"},
	} {
		t.Run(name, func(t *testing.T) {
			for what, read := range map[string]func() error{
				"Check": func() error { _, err := extract.Check(t.Context(), source(tt.bytes), tt.o); return err },
				"Extract": func() error {
					_, err := extract.Extract(t.Context(), source(tt.bytes), t.TempDir(), tt.o)
					return err
				},
			} {
				err := read()
				var refused *extract.RefusedError
				switch {
				case tt.entry == "" && err != nil:
					t.Errorf("%s: %v", what, err)
				case tt.entry != "" && (!errors.As(err, &refused) || *refused != extract.RefusedError{Entry: tt.entry, Rule: extract.RuleRatio, Limit: "max-ratio 200"}):
					t.Errorf("%s: %v, want a refusal of %q", what, err, tt.entry)
				}
			}
		})
	}
}

// longHeaders are more than an archive may unpack to freely.
func longHeaders() []byte {
	one := pax('x', "comment", strings.Repeat("x", 1<<19))
	return bytes.Repeat(one, 160)
}

func TestOptionsAreValidated(t *testing.T) {
	for _, o := range []extract.Options{{MaxBytes: -1}, {MaxHeader: -1}, {MaxHeaders: -1}, {MaxRatio: -1}, {MaxDepth: -1}, {Privileges: "drop"}} {
		if o.Validate() == nil {
			t.Errorf("%+v is valid", o)
		}
	}
	if err := (extract.Options{Privileges: extract.KeepPrivileges}).Validate(); err != nil {
		t.Error(err)
	}
}
