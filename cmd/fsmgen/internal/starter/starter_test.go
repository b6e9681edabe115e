package starter

import (
	"strings"
	"testing"

	"github.com/fsmgen/fsmgen/gen"
	"github.com/fsmgen/fsmgen/gen/diag"
)

func TestMachineHasNoProblems(t *testing.T) {
	for _, name := range []string{"task", "order", "waiting", "x"} {
		data := Machine(name)
		path := name + ".yaml"
		machines, list, err := gen.Load([]gen.Source{{Path: path, Data: data}})
		if err != nil {
			t.Fatal(err)
		}
		if list.Len() > 0 || len(machines) != 1 || machines[0].Text != name {
			t.Errorf("%s: %d machines\n%s", name, len(machines), diag.Text(list, diag.Sources{path: data}, false))
		}
	}
}

func TestCheckName(t *testing.T) {
	for name, ok := range map[string]bool{
		"order": true, "order_2": true,
		"": false, "Order": false, "2nd": false, "a-b": false, "type": false, "main": false, "../x": false, "ä": false,
	} {
		if err := CheckName(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestPackageName(t *testing.T) {
	for module, want := range map[string]string{
		"example.com/my-shop": "myshop", "Shop": "shop", "42": "machines", "x/type": "machines", "go2": "go2",
	} {
		if got := PackageName(module); got != want {
			t.Errorf("%s: %s, want %s", module, got, want)
		}
	}
}

func TestGoMod(t *testing.T) {
	m := Module{Path: "shop", Go: "1.26.0", Fsmgen: "github.com/fsmgen/fsmgen", Version: "v1.2.3"}
	if got := string(m.GoMod()); !strings.Contains(got, "require github.com/fsmgen/fsmgen v1.2.3") || strings.Contains(got, "replace") {
		t.Errorf("got %s", got)
	}
	for replace, want := range map[string]string{"../src": " => ../src\n", "src": " => ./src\n", "/a b": " => \"/a b\"\n"} {
		m.Replace = replace
		if got := string(m.GoMod()); !strings.HasSuffix(got, want) {
			t.Errorf("got %s", got)
		}
	}
}
