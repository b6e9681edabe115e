//go:build unix

package extract_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/fsmgen/fsmgen/services/images/extract"
)

// Each layer is one archive, extracted into the same root.
func TestLayers(t *testing.T) {
	lower := []member{
		dir("etc"), reg("etc/keep", ""), reg("etc/gone", ""), dir("etc/tree"), reg("etc/tree/a", ""), reg("etc/tree/sub/b", ""),
		sym("etc/link", "keep"), reg("file", ""), dir("dir"), reg("dir/a", ""), reg("other/a", ""), reg("other/sub/b", ""),
	}
	for _, tt := range []struct {
		name  string
		upper []member
		gone  []string
		more  []string
	}{
		{"a file goes", []member{reg("etc/.wh.gone", "")}, []string{"/etc/gone"}, nil},
		{"a tree goes", []member{reg("etc/.wh.tree", "")}, []string{"/etc/tree", "/etc/tree/a", "/etc/tree/sub", "/etc/tree/sub/b"}, nil},
		{"a link goes, not its target", []member{reg("etc/.wh.link", "")}, []string{"/etc/link"}, nil},
		{"what is not there can go", []member{reg("etc/.wh.never", "")}, nil, nil},
		{"a whiteout spares its own layer", []member{reg("etc/gone", ""), reg("etc/.wh.gone", "")}, nil, nil},
		{"a whiteout in front spares its own layer", []member{reg("etc/.wh.gone", ""), reg("etc/gone", "")}, nil, nil},
		{"a tree is replaced", []member{reg("etc/tree/new", ""), reg("etc/.wh.tree", "")},
			[]string{"/etc/tree/a", "/etc/tree/sub", "/etc/tree/sub/b"}, []string{"/etc/tree/new"}},
		{"opaque", []member{reg("other/.wh..wh..opq", ""), reg("other/new", "")},
			[]string{"/other/a", "/other/sub", "/other/sub/b"}, []string{"/other/new"}},
		{"opaque behind its own layer", []member{reg("other/sub/new", ""), reg("other/.wh..wh..opq", "")},
			[]string{"/other/a", "/other/sub/b"}, []string{"/other/sub/new"}},
		{"metadata of AUFS is nothing", []member{reg(".wh..wh.aufs", ""), dir(".wh..wh.plnk"), reg(".wh..wh.plnk/1.2", "")}, nil, nil},
		{"a directory becomes a file", []member{reg("dir", "")}, []string{"/dir/a"}, nil},
		{"a directory becomes a link", []member{sym("dir", "etc")}, []string{"/dir/a"}, nil},
		{"a file becomes a directory", []member{dir("file"), reg("file/a", "")}, nil, []string{"/file/a"}},
		{"a link becomes a directory", []member{dir("etc/link")}, nil, nil},
		{"a link to what was there", []member{hard("hard", "etc/keep")}, nil, []string{"/hard"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			for _, layer := range [][]member{lower, tt.upper} {
				if _, err := extract.Extract(t.Context(), source(archive(layer...)), root, extract.Options{}); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{"", "/dir", "/dir/a", "/etc", "/etc/gone", "/etc/keep", "/etc/link", "/etc/tree", "/etc/tree/a", "/etc/tree/sub",
				"/etc/tree/sub/b", "/file", "/other", "/other/a", "/other/sub", "/other/sub/b"}
			want = slices.DeleteFunc(append(want, tt.more...), func(name string) bool { return slices.Contains(tt.gone, name) })
			slices.Sort(want)
			if got := slices.Sorted(maps.Keys(describe(t, root))); !slices.Equal(got, want) {
				t.Errorf("the root holds\n%q, want\n%q", got, want)
			}
		})
	}
}
