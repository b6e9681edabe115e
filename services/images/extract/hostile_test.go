//go:build unix

package extract_test

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// limits are those under which the hostile archives are extracted.
var limits = extract.Options{MaxBytes: 1 << 20, MaxFiles: 200, MaxDepth: 10, MaxPath: 300, MaxHeaders: 20 << 20, Privileges: extract.RefusePrivileges}

// hostile is an archive that must be refused.
type hostile struct {
	name  string
	bytes func(outside string) []byte
	entry string // that is to blame; "OUTSIDE" is the canary's directory
	rule  extract.Rule
	limit string // that the message names
}

func made(members ...member) func(string) []byte {
	return func(outside string) []byte {
		for i := range members {
			members[i].Name = strings.ReplaceAll(members[i].Name, "OUTSIDE", outside)
			members[i].Linkname = strings.ReplaceAll(members[i].Linkname, "OUTSIDE", outside)
		}
		return archive(members...)
	}
}

func plain(parts ...[]byte) func(string) []byte {
	return func(string) []byte { return join(parts...) }
}

var hostiles = []hostile{
	{"absolute name", made(reg("OUTSIDE/new", "x")), "OUTSIDE/new", extract.RuleAbsolute, ""},
	{"absolute name of a directory", made(dir("OUTSIDE/new/")), "OUTSIDE/new/", extract.RuleAbsolute, ""},
	{"absolute name behind two slashes", made(reg("/OUTSIDE/new", "x")), "/OUTSIDE/new", extract.RuleAbsolute, ""},
	{"name that leads up", made(reg("../outside/new", "x")), "../outside/new", extract.RuleParent, ""},
	{"name that leads up behind a dot", made(reg("./../outside/new", "x")), "./../outside/new", extract.RuleParent, ""},
	{"name that leads up and back", made(dir("a"), reg("a/../../outside/new", "x")), "a/../../outside/new", extract.RuleParent, ""},
	{"name that stays inside, with dots", made(reg("a/../b", "x")), "a/../b", extract.RuleParent, ""},
	{"directory named two dots", made(dir("..")), "..", extract.RuleParent, ""},
	{"long name of GNU that leads up", plain(raw('L', "././@LongLink", "", "17", "../outside/newXY\x00"[:15]), raw('0', "good", "", "0", ""), end), "../outside/newX", extract.RuleParent, ""},
	{"PAX name over a harmless one", plain(pax('x', "path", "../outside/new"), raw('0', "good", "", "0", ""), end), "../outside/new", extract.RuleParent, ""},
	{"PAX name that is absolute", plain(pax('x', "path", "/tmp/new"), raw('0', "good", "", "0", ""), end), "/tmp/new", extract.RuleAbsolute, ""},

	{"file through an absolute link", made(sym("a", "OUTSIDE"), reg("a/new", "x")), "a/new", extract.RuleThrough, ""},
	{"file through a relative link", made(sym("a", "../outside"), reg("a/new", "x")), "a/new", extract.RuleThrough, ""},
	{"file through a link, deeper", made(dir("d"), sym("d/a", "../../outside"), reg("d/a/dir/new", "x")), "d/a/dir/new", extract.RuleThrough, ""},
	{"directory through a link", made(sym("a", "../outside"), dir("a/new")), "a/new", extract.RuleThrough, ""},
	{"rights of a directory behind a link", made(sym("a", "../outside"), dir("a/dir")), "a/dir", extract.RuleThrough, ""},
	{"link through a link", made(sym("a", "../outside"), sym("a/new", "x")), "a/new", extract.RuleThrough, ""},
	{"hard link through a link", made(sym("a", "../outside"), reg("f", "x"), hard("a/new", "f")), "a/new", extract.RuleThrough, ""},
	{"chain of links", made(sym("b", "../outside"), sym("a", "b"), reg("a/new", "x")), "a/new", extract.RuleThrough, ""},
	{"link to the root's parent", made(sym("a", ".."), reg("a/outside/new", "x")), "a/outside/new", extract.RuleThrough, ""},
	{"link that stays inside", made(dir("d"), sym("a", "d"), reg("a/new", "x")), "a/new", extract.RuleThrough, ""},
	{"file through a file", made(reg("a", "x"), reg("a/new", "x")), "a/new", extract.RuleThrough, ""},

	{"file over a link", made(sym("a", "OUTSIDE/file"), reg("a", "stolen")), "a", extract.RuleReplace, ""},
	{"directory over a link", made(sym("a", "OUTSIDE"), dir("a"), reg("a/new", "x")), "a", extract.RuleReplace, ""},
	{"link over a directory", made(dir("a"), sym("a", "OUTSIDE"), reg("a/new", "x")), "a", extract.RuleReplace, ""},
	{"link over a directory without an entry", made(reg("a/b", "x"), sym("a", "OUTSIDE"), reg("a/new", "x")), "a", extract.RuleReplace, ""},
	{"link over a file", made(reg("a", "x"), sym("a", "OUTSIDE/file")), "a", extract.RuleReplace, ""},
	{"hard link over a link", made(sym("a", "OUTSIDE/file"), reg("f", "x"), hard("a", "f")), "a", extract.RuleReplace, ""},
	{"file over a directory", made(dir("a"), reg("a", "x")), "a", extract.RuleReplace, ""},
	{"directory over a file", made(reg("a", "x"), dir("a")), "a", extract.RuleReplace, ""},
	{"link in another spelling", made(sym("./d//a", "OUTSIDE"), dir("d/./a")), "d/./a", extract.RuleReplace, ""},

	{"hard link to an absolute name", made(hard("a", "OUTSIDE/file")), "a", extract.RuleLink, ""},
	{"hard link that leads up", made(hard("a", "../outside/file")), "a", extract.RuleLink, ""},
	{"hard link to a link that leads out", made(sym("l", "OUTSIDE/file"), hard("a", "l"), reg("a", "stolen")), "a", extract.RuleLink, ""},
	{"hard link with a target behind a link", made(sym("l", "OUTSIDE"), hard("a", "l/file")), "a", extract.RuleLink, ""},
	{"hard link to nothing", made(hard("a", "b")), "a", extract.RuleLink, ""},
	{"hard link to itself", made(reg("a", "x"), hard("a", "a")), "a", extract.RuleLink, ""},
	{"hard link to a directory", made(dir("d"), hard("a", "d")), "a", extract.RuleLink, ""},
	{"hard link with content", plain(raw('0', "f", "", "1", "x"), raw('1', "a", "f", "1000", strings.Repeat("y", 512)), end), "a", extract.RuleSize, ""},
	{"link without a target", plain(raw('2', "a", "", "0", ""), end), "a", extract.RuleTarget, ""},
	{"link with a long target", made(sym("a", strings.Repeat("x", 301))), "a", extract.RulePath, "max-path 300"},

	{"character device", made(special(tar.TypeChar, "dev/null")), "dev/null", extract.RuleDevice, ""},
	{"block device", made(special(tar.TypeBlock, "dev/sda")), "dev/sda", extract.RuleDevice, ""},
	{"named pipe", made(special(tar.TypeFifo, "pipe")), "pipe", extract.RuleDevice, ""},
	{"entry of no known kind", plain(raw('Z', "odd", "", "0", ""), end), "odd", extract.RuleType, ""},
	{"volume label", plain(raw('V', "label", "", "0", ""), end), "label", extract.RuleType, ""},

	{"more bytes", made(reg("a", strings.Repeat("x", 1<<19)), reg("b", strings.Repeat("x", 1<<19)), reg("c", "x")), "c", extract.RuleBytes, "max-bytes 1048576"},
	{"more bytes than it has", plain(raw('0', "a", "", "77777777777", ""), end), "a", extract.RuleBytes, "max-bytes 1048576"},
	{"sparse file of a petabyte", plain(pax('x', "GNU.sparse.major", "0", "GNU.sparse.minor", "1", "GNU.sparse.numblocks", "1",
		"GNU.sparse.map", "1125899906842624,0", "GNU.sparse.size", "1125899906842624", "GNU.sparse.name", "hole"), raw('0', "hole", "", "0", ""), end), "hole", extract.RuleBytes, "max-bytes 1048576"},
	{"more entries", func(string) []byte { return archive(many(201)...) }, "f200", extract.RuleFiles, "max-files 200"},
	{"more entries that are no files", plain(join(bytes.Repeat(pax('g', "comment", "x"), 201), end)), "PaxHeaders/x", extract.RuleFiles, "max-files 200"},
	{"deeper", made(reg(strings.Repeat("d/", 10)+"f", "x")), strings.Repeat("d/", 10) + "f", extract.RuleDepth, "max-depth 10"},
	{"longer name", made(reg(strings.Repeat("dir/", 75)+"f", "x")), strings.Repeat("dir/", 75) + "f", extract.RulePath, "max-path 300"},
	{"longer component", made(reg(strings.Repeat("x", 256), "x")), strings.Repeat("x", 256), extract.RulePath, "max-path 300"},
	{"file of another user", made(privileged(reg("usr/bin/su", "x"), 0o4755, "")), "usr/bin/su", extract.RulePrivileges, "privileges refuse"},
	{"file of another group", made(privileged(reg("a", "x"), 0o2755, "")), "a", extract.RulePrivileges, "privileges refuse"},
	{"file with capabilities", made(privileged(reg("a", "x"), 0o755, "\x01")), "a", extract.RulePrivileges, "privileges refuse"},
	{"headers that are long together", func(string) []byte {
		long := join(bytes.Repeat(pax('x', "comment", strings.Repeat("x", 1<<16)), 100), raw('0', "good", "", "0", ""))
		return join(bytes.Repeat(long, 4), end)
	}, "good", extract.RuleHeaders, "max-headers 20971520"},
	{"endless headers", func(string) []byte {
		return join(raw('0', "first", "", "0", ""), bytes.Repeat(pax('x', "comment", strings.Repeat("x", 1<<16)), 130), raw('0', "good", "", "0", ""), end)
	}, "first", extract.RuleHeader, "max-header 8388608"},

	{"file with a slash at its end", plain(raw('0', "a/", "", "0", ""), end), "a/", extract.RuleName, ""},
	{"link with a slash at its end", plain(raw('2', "a/", "OUTSIDE", "0", ""), end), "a/", extract.RuleName, ""},
	{"file named like the root", made(reg(".", "x")), ".", extract.RuleName, ""},
	{"link in the place of the root", made(sym("./", "OUTSIDE")), "./", extract.RuleName, ""},
	{"empty name", plain(raw('0', "", "", "0", ""), end), "", extract.RuleName, ""},
	{"newline in a bad name", made(reg("../outside/a\nb", "x")), "../outside/a\nb", extract.RuleParent, ""},
	{"owner that wraps around to root", plain(pax('x', "uid", "4294967296"), raw('0', "a", "", "0", ""), end), "a", extract.RuleOwner, ""},
	{"group that means any", plain(pax('x', "gid", "4294967295"), raw('0', "a", "", "0", ""), end), "a", extract.RuleOwner, ""},
	{"global name", plain(pax('g', "path", "../outside/new"), raw('0', "a", "", "0", ""), end), "../outside/new", extract.RuleGlobal, ""},
	{"directory with content", plain(raw('5', "d/", "", "1000", strings.Repeat("x", 512)), end), "d/", extract.RuleSize, ""},
	{"second archive behind the end", plain(raw('0', "a", "", "0", ""), end, raw('0', "../outside/new", "", "0", ""), end), "a", extract.RuleTail, ""},

	{"whiteout of two dots", made(dir("d"), reg("d/.wh...", "")), "d/.wh...", extract.RuleWhiteout, ""},
	{"whiteout of a dot", made(reg(".wh..", "")), ".wh..", extract.RuleWhiteout, ""},
	{"whiteout of nothing", made(reg(".wh.", "")), ".wh.", extract.RuleWhiteout, ""},
	{"file below a whiteout", made(reg("a/.wh.b/c", "x")), "a/.wh.b/c", extract.RuleWhiteout, ""},
	{"whiteout behind a link", made(sym("a", "../outside"), reg("a/.wh.file", "")), "a/.wh.file", extract.RuleThrough, ""},
	{"opaque whiteout of a link", made(sym("a", "../outside"), reg("a/.wh..wh..opq", "")), "a/.wh..wh..opq", extract.RuleReplace, ""},
	{"opaque whiteout behind a link", made(sym("a", "../outside"), reg("a/dir/.wh..wh..opq", "")), "a/dir/.wh..wh..opq", extract.RuleThrough, ""},
}

func many(n int) []member {
	members := make([]member, n)
	for i := range members {
		members[i] = reg(fmt.Sprintf("f%03d", i), "")
	}
	return members
}

// privileged gives a member a mode and capabilities.
func privileged(m member, mode int64, capabilities string) member {
	if m.Mode = mode; capabilities != "" {
		m.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": capabilities}
	}
	return m
}

func TestHostileArchivesAreRefused(t *testing.T) {
	for _, h := range hostiles {
		t.Run(h.name, func(t *testing.T) {
			c := newCage(t)
			bytes := h.bytes(c.outside)
			_, err := extract.Extract(t.Context(), source(bytes), c.root, limits)
			c.intact(t)
			var refused *extract.RefusedError
			if !errors.As(err, &refused) {
				t.Fatalf("Extract: %v, want a refusal", err)
			}
			want := extract.RefusedError{Entry: strings.ReplaceAll(h.entry, "OUTSIDE", c.outside), Rule: h.rule, Limit: h.limit}
			if *refused != want {
				t.Errorf("Extract refused %v, want %v", refused, &want)
			}
			_, checked := extract.Check(t.Context(), source(bytes), limits)
			if checked == nil || checked.Error() != err.Error() {
				t.Errorf("Check says %v, Extract says %v", checked, err)
			}
		})
	}
}

// source can't seek: archive/tar would skip content instead of reading it.
func source(b []byte) io.Reader { return struct{ io.Reader }{bytes.NewReader(b)} }

// The tree must hold without the checker: what leads out was there before, so no
// entry of the archive gives it away.
func TestLinksThatWereThereAreNotFollowed(t *testing.T) {
	for _, tt := range []struct {
		name    string
		members []member
	}{
		{"file", []member{reg("out/new", "x")}},
		{"file that is there", []member{reg("out/file", "x")}},
		{"directory", []member{dir("out/dir")}},
		{"link", []member{sym("out/new", "x")}},
		{"hard link", []member{reg("f", "x"), hard("out/new", "f")}},
		{"hard link to what is there", []member{hard("stolen", "out/file")}},
		{"hard link to the link itself", []member{hard("stolen", "out")}},
		{"whiteout", []member{reg("out/.wh.file", "")}},
		{"opaque whiteout", []member{reg("out/.wh..wh..opq", "")}},
		{"deeper", []member{reg("d/out/dir/inner", "x")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := newCage(t)
			if err := os.Mkdir(c.root+"/d", 0o755); err != nil {
				t.Fatal(err)
			}
			for _, link := range []string{"/out", "/d/out"} {
				if err := os.Symlink(c.outside, c.root+link); err != nil {
					t.Fatal(err)
				}
			}
			_, err := extract.Extract(t.Context(), source(archive(tt.members...)), c.root, limits)
			c.intact(t)
			var refused *extract.RefusedError
			if last := tt.members[len(tt.members)-1].Name; !errors.As(err, &refused) || refused.Entry != last {
				t.Errorf("error = %v, want a refusal of %q", err, last)
			}
		})
	}
}

// What stands on a link is replaced, not followed.
func TestLinksThatWereThereAreReplaced(t *testing.T) {
	for name, m := range map[string]member{"file": reg("out", "mine"), "directory": dir("out"), "link": sym("out", "elsewhere")} {
		c := newCage(t)
		if err := os.Symlink(c.outside+"/file", c.root+"/out"); err != nil {
			t.Fatal(err)
		}
		if _, err := extract.Extract(t.Context(), source(archive(m)), c.root, limits); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		c.intact(t)
		if target, _ := os.Readlink(c.root + "/out"); strings.HasPrefix(target, c.outside) {
			t.Errorf("%s: the old link is still there", name)
		}
	}
}
