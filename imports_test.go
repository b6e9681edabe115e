package fsmgen_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/fsmgen/fsmgen"

// rule says what the packages below a folder may import. Names without a
// module path are ours; "std" is the whole standard library. The first rule
// whose folder matches counts.
type rule struct {
	folder    string // a folder, or a folder/* for all packages below it
	allowed   []string
	forbidden []string // of the standard library
}

// The rules of ARCHITECTURE.md, Import rules.
var rules = []rule{
	{folder: "gen/diag", allowed: []string{"std"}},
	{folder: "gen/naming", allowed: []string{"std"}},
	{folder: "gen/syntax", allowed: []string{"std", "gen/diag", "gopkg.in/yaml.v3"}},
	{folder: "gen/ir", allowed: []string{"std", "gen/diag", "gen/syntax"}},
	{folder: "gen/domain", allowed: []string{"std", "gen/diag", "gen/ir"}},
	{folder: "gen/check", allowed: []string{"std", "gen/diag", "gen/ir", "gen/domain", "gen/naming"}},
	{folder: "gen/interp", allowed: []string{"std", "gen/diag", "gen/ir", "gen/domain"}},
	{folder: "gen/ddl", allowed: []string{"std", "gen/diag", "gen/ir", "gen/naming"}},
	{folder: "gen/mermaid", allowed: []string{"std", "gen/diag", "gen/ir"}},
	{folder: "gen/docs", allowed: []string{"std", "gen/diag", "gen/ir"}},
	{folder: "gen/golang", allowed: []string{"std", "gen/diag", "gen/ir", "gen/naming", "github.com/dave/jennifer/jen"}},
	{folder: "gen", allowed: []string{"std", "gen/*"}},
	{folder: "runtime/fsm", allowed: []string{"std"}, forbidden: []string{"os", "net", "database/sql", "context", "math/rand", "math/rand/v2"}},
	{folder: "runtime/client", allowed: []string{"std", "runtime/fsm"}},
	{folder: "runtime/store", allowed: []string{"std", "runtime/client", "runtime/fsm", "generated/outbox"}},
	{folder: "runtime/engine", allowed: []string{"std", "runtime/client", "runtime/fsm", "runtime/store", "internal/groupcommit", "generated/outbox"}},
	{folder: "proptest/crash", allowed: []string{"std", "gen", "gen/ir", "proptest/crash/scenarios", "proptest/facts", "runtime/fsm", "runtime/engine", "runtime/store", "generated/publish", "adapters/sqlite", "adapters/postgres", "internal/pgtest", "internal/progress", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/*"}},
	{folder: "proptest/crash/scenarios", allowed: []string{"std", "gen/ddl", "gen/domain", "gen/interp", "gen/ir", "proptest", "runtime/fsm"}},
	{folder: "proptest/facts", allowed: []string{"std", "runtime/fsm"}},
	{folder: "proptest/simulate", allowed: []string{"std", "gen/*", "proptest/facts", "runtime/fsm", "runtime/engine", "runtime/store", "generated/*"}},
	{folder: "runtime/enginetest", allowed: []string{"std", "runtime/fsm", "runtime/engine", "adapters/sqlite"}},
	{folder: "proptest/storetest", allowed: []string{"std", "internal/fixture/generated/*", "runtime/fsm", "runtime/store", "generated/*"}},
	{folder: "proptest/enginecases", allowed: []string{"std", "internal/fixture/generated/*", "proptest/storetest", "runtime/fsm", "runtime/engine", "runtime/store", "generated/*"}},
	{folder: "adapters/sqlite", allowed: []string{"std", "runtime/fsm", "runtime/store", "modernc.org/sqlite", "modernc.org/sqlite/*"}},
	{folder: "adapters/postgres", allowed: []string{"std", "runtime/fsm", "runtime/store", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/*"}},
	{folder: "adapters/prometheus", allowed: []string{"std", "runtime/fsm", "runtime/engine", "github.com/prometheus/client_golang/*"}},
	{folder: "adapters/otel", allowed: []string{"std", "runtime/fsm", "runtime/engine", "go.opentelemetry.io/otel", "go.opentelemetry.io/otel/*"}},
	{folder: "adapters/discovery/discoverytest", allowed: []string{"std", "adapters/discovery", "internal/proxytest"}},
	{folder: "adapters/discovery", allowed: []string{"std"}},
	{folder: "adapters/volume/volumetest", allowed: []string{"std", "adapters/volume"}},
	{folder: "adapters/volume", allowed: []string{"std"}},
	{folder: "adapters/object", allowed: []string{"std"}},
	{folder: "adapters/devicemapper", allowed: []string{"std", "adapters/volume", "golang.org/x/sys/unix"}},
	{folder: "adapters/directory", allowed: []string{"std", "adapters/volume", "golang.org/x/sys/unix"}},
	{folder: "adapters/s3", allowed: []string{"std", "adapters/object", "github.com/aws/aws-sdk-go-v2", "github.com/aws/aws-sdk-go-v2/*", "github.com/aws/smithy-go", "github.com/aws/smithy-go/*"}},
	{folder: "proptest/locktest", allowed: []string{"std", "runtime/engine"}},
	{folder: "adapters/redis", allowed: []string{"std", "runtime/engine", "github.com/redis/go-redis/v9"}},
	{folder: "adapters/kafka", allowed: []string{"std", "runtime/fsm", "runtime/engine", "github.com/twmb/franz-go/*"}},
	{folder: "adapters/ton/tontest", allowed: []string{"std", "internal/parts", "github.com/xssnick/tonutils-go/*"}},
	{folder: "adapters/ton", allowed: []string{"std", "github.com/xssnick/tonutils-go/*"}},
	{folder: "adapters/consul", allowed: []string{"std", "adapters/discovery", "github.com/hashicorp/consul/api"}},
	{folder: "generated/*", allowed: []string{"std", "runtime/client", "runtime/fsm"}},
	{folder: "internal/fixture/generated/*", allowed: []string{"std", "runtime/client", "runtime/fsm"}},
	{folder: "proptest/jepsen/generated/*", allowed: []string{"std", "runtime/client", "runtime/fsm"}},
	{folder: "examples/order/generated/*", allowed: []string{"std", "runtime/client", "runtime/fsm"}},
	{folder: "examples/booking/generated/*", allowed: []string{"std", "runtime/client", "runtime/fsm"}},
	{folder: "examples/approval/generated/*", allowed: []string{"std", "runtime/client", "runtime/fsm"}},
	{folder: "examples/*", allowed: []string{"std", "runtime/client", "runtime/fsm", "runtime/engine", "adapters/sqlite", "examples/*"}},
	{folder: "proptest/attacks", allowed: []string{"std", "internal/fixture/generated/*", "runtime/fsm", "runtime/engine", "runtime/store", "generated/deal", "generated/registration", "adapters/postgres", "adapters/sqlite", "internal/parts", "internal/pgtest", "modernc.org/*", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/*"}},
	{folder: "proptest", allowed: []string{"std", "gen", "gen/*", "runtime/fsm", "internal/pgtest", "pgregory.net/rapid", "modernc.org/*", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/*"}},
	{folder: "cmd/fsmgen/internal/output", allowed: []string{"std", "gen"}},
	{folder: "cmd/fsmgen/internal/simulate", allowed: []string{"std", "gen/diag", "gen/interp", "gen/ir"}},
	{folder: "cmd/fsmgen/internal/starter", allowed: []string{"std", "gen/naming"}},
	{folder: "cmd/fsmgen", allowed: []string{"std", "gen", "gen/*", "cmd/fsmgen/internal/*", "github.com/spf13/cobra", "github.com/mattn/go-isatty"}},
	{folder: "services/images/extract", allowed: []string{"std", "github.com/klauspost/compress/*", "golang.org/x/sys/unix"}},
	{folder: "services/images/cmd/images", allowed: []string{"std", "services/images", "services/images/extract", "adapters/devicemapper", "adapters/directory", "adapters/s3", "github.com/spf13/cobra", "github.com/schollz/progressbar/v3", "github.com/mattn/go-isatty"}},
	{folder: "services/images", allowed: []string{"std", "adapters/object", "adapters/volume", "runtime/client", "runtime/fsm", "runtime/engine", "generated/download", "generated/unpack", "generated/activate", "adapters/sqlite", "services/images/extract", "github.com/gofrs/flock"}},
	{folder: "services/deal/internal/sqltx", allowed: []string{"std", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgconn"}, forbidden: []string{"net/http"}},
	{folder: "services/deal/internal/dbtest", allowed: []string{"std", "runtime/store", "adapters/postgres", "adapters/sqlite", "internal/pgtest", "services/deal/internal/sqltx", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool"}},
	{folder: "services/deal/internal/oracle", allowed: []string{"std", "adapters/ton", "adapters/ton/tontest", "runtime/fsm", "services/deal/internal/dbtest", "services/deal/internal/sqltx", "github.com/xssnick/tonutils-go/*"}},
	{folder: "services/deal/transfers", allowed: []string{"std", "adapters/ton", "generated/transfer", "runtime/fsm", "runtime/engine", "services/deal/internal/sqltx", "services/deal/ledger"}, forbidden: []string{"net/http", "database/sql"}},
	{folder: "services/deal/deposits", allowed: []string{"std", "adapters/ton", "generated/transfer", "runtime/fsm", "runtime/engine", "services/deal/internal/sqltx", "services/deal/ledger"}, forbidden: []string{"net/http", "database/sql"}},
	{folder: "services/deal/ledger", allowed: []string{"std", "runtime/fsm", "services/deal/internal/sqltx", "github.com/jackc/pgx/v5"}, forbidden: []string{"net/http"}},
	{folder: "services/deal/cmd/deald", allowed: []string{"std", "adapters/kafka", "adapters/postgres", "adapters/sqlite", "adapters/ton", "generated/deal", "runtime/engine", "runtime/fsm", "services/deal", "services/deal/*", "services/internal/daemon", "services/internal/secretfile", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/pgxpool", "github.com/spf13/cobra"}},
	{folder: "services/deal", allowed: []string{"std", "adapters/ton", "generated/deal", "generated/transfer", "runtime/client", "runtime/engine", "runtime/fsm", "runtime/store", "services/deal/*", "github.com/jackc/pgx/v5"}, forbidden: []string{"net/http"}},
	{folder: "services/deal/access", allowed: []string{"std", "services/internal/secretfile", "github.com/golang-jwt/jwt/v5"}, forbidden: []string{"net/http", "database/sql"}},
	{folder: "services/deal/books", allowed: []string{"std", "runtime/fsm", "generated/deal", "services/deal/internal/sqltx", "services/deal/ledger", "github.com/jackc/pgx/v5"}, forbidden: []string{"net/http"}},
	{folder: "services/deal/httpapi", allowed: []string{"std", "runtime/client", "runtime/engine", "runtime/fsm", "generated/deal", "services/deal/access", "services/deal/ledger"}, forbidden: []string{"database/sql"}},
	{folder: "services/internal/secretfile", allowed: []string{"std"}},
	{folder: "services/internal/daemon", allowed: []string{"std", "services/internal/secretfile"}},
	{folder: "services/deal/posts", allowed: []string{"std", "generated/deal", "runtime/client", "runtime/engine", "runtime/fsm", "services/deal/internal/sqltx", "github.com/jackc/pgx/v5"}, forbidden: []string{"net/http"}},
	{folder: "services/deal/posts/directory", allowed: []string{"std", "services/deal/posts"}, forbidden: []string{"net/http", "database/sql"}},
	{folder: "services/deal/posts/web", allowed: []string{"std", "services/deal/posts"}, forbidden: []string{"database/sql"}},
	{folder: "services/deal/posts/posttest", allowed: []string{"std", "services/deal/posts"}},
	{folder: "services/registration/cmd/registrationd", allowed: []string{"std", "services/registration", "services/registration/httpapi", "services/internal/daemon", "generated/registration", "runtime/engine", "adapters/consul", "adapters/prometheus", "adapters/otel", "github.com/spf13/cobra", "github.com/prometheus/client_golang/*", "go.opentelemetry.io/otel/*"}},
	{folder: "services/registration/httpapi", allowed: []string{"std", "services/registration", "runtime/fsm", "runtime/engine", "generated/registration"}, forbidden: []string{"database/sql"}},
	{folder: "services/registration/database", allowed: []string{"std", "adapters/discovery", "runtime/client", "runtime/fsm", "runtime/engine", "generated/registration", "adapters/postgres", "adapters/sqlite", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/*"}, forbidden: []string{"net/http"}},
	{folder: "services/registration/collect", allowed: []string{"std", "adapters/discovery", "runtime/fsm", "runtime/engine", "generated/registration", "services/registration/database"}, forbidden: []string{"net/http", "database/sql"}},
	{folder: "services/registration", allowed: []string{"std", "adapters/discovery", "runtime/client", "runtime/fsm", "runtime/engine", "internal/groupcommit", "generated/registration", "services/registration/collect", "services/registration/database", "go.opentelemetry.io/otel/trace"}, forbidden: []string{"net/http", "database/sql"}},
	{folder: "internal/parts", allowed: []string{"std"}},
	{folder: "internal/pgtest", allowed: []string{"std", "internal/parts", "internal/progress", "internal/proxytest", "github.com/jackc/pgx/v5", "github.com/jackc/pgx/v5/*"}},
	{folder: "internal/consulagent", allowed: []string{"std"}},
	{folder: "internal/progress", allowed: []string{"std"}},
	{folder: "internal/racing", allowed: []string{"std"}},
	{folder: "internal/groupcommit", allowed: []string{"std"}},
	{folder: "internal/proxytest", allowed: []string{"std"}},
	{folder: "internal/guest", allowed: []string{"std", "golang.org/x/sys/unix"}},
	{folder: "internal/demo/service", allowed: []string{"std", "runtime/client", "runtime/fsm", "runtime/engine", "generated/*", "adapters/sqlite"}},
	{folder: "internal/demo", allowed: []string{"std", "gen", "gen/*", "runtime/client", "runtime/fsm", "runtime/engine", "generated/*", "adapters/sqlite", "internal/demo/*", "github.com/mattn/go-isatty"}},
}

func TestImports(t *testing.T) {
	packages := imports(t)
	for folder, imported := range packages {
		i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.folder, folder) })
		if i < 0 {
			if folder != "." {
				t.Errorf("package %s has no import rule: add one here and in ARCHITECTURE.md", folder)
			}
			continue
		}
		for _, p := range imported {
			if !allows(rules[i], p) {
				t.Errorf("package %s imports %s, which ARCHITECTURE.md does not allow", folder, p)
			}
		}
	}
	for _, folder := range []string{"gen/ir", "gen/golang", "runtime/fsm", "generated/upload", "cmd/fsmgen"} {
		if len(packages[folder]) == 0 {
			t.Errorf("no imports of %s were seen: the test looks in the wrong place", folder)
		}
	}
}

func TestImportRulesBite(t *testing.T) {
	for _, tt := range []struct {
		folder, imported string
		want             bool
	}{
		{"gen/ir", "gopkg.in/yaml.v3", false},
		{"gen/syntax", "gopkg.in/yaml.v3", true},
		{"runtime/fsm", "database/sql", false},
		{"runtime/fsm", "database/sql/driver", true},
		{"generated/deal", module + "/generated/outbox", false},
		{"gen/interp", module + "/gen/golang", false},
		{"gen", module + "/gen/golang", true},
		{"proptest/crash", module + "/proptest/simulate", false},
		{"proptest/simulate", module + "/proptest/crash", false},
		{"proptest/facts", module + "/runtime/engine", false},
		{"proptest/storetest", module + "/runtime/engine", false},
	} {
		i := slices.IndexFunc(rules, func(r rule) bool { return matches(r.folder, tt.folder) })
		if got := allows(rules[i], tt.imported); got != tt.want {
			t.Errorf("%s imports %s: allowed is %v", tt.folder, tt.imported, got)
		}
	}
}

func matches(pattern, folder string) bool {
	if below, ok := strings.CutSuffix(pattern, "/*"); ok {
		return strings.HasPrefix(folder, below+"/")
	}
	return pattern == folder
}

func allows(r rule, imported string) bool {
	if ours, ok := strings.CutPrefix(imported, module+"/"); ok {
		imported = ours
	} else if !strings.Contains(strings.Split(imported, "/")[0], ".") {
		return slices.Contains(r.allowed, "std") && !slices.Contains(r.forbidden, imported)
	}
	return slices.ContainsFunc(r.allowed, func(p string) bool { return matches(p, imported) })
}

// imports returns the imports of every package of the module, without those
// of its tests.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	out := map[string][]string{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (skipped(d.Name()) || isModule(file)):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		folder := path.Dir(filepath.ToSlash(file))
		for _, spec := range f.Imports {
			p, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			if !slices.Contains(out[folder], p) {
				out[folder] = append(out[folder], p)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func skipped(name string) bool {
	return name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".")
}

// isModule reports whether a folder is the root of a module of its own.
func isModule(folder string) bool {
	found, err := filepath.Glob(filepath.Join(folder, "go.mod"))
	return err == nil && len(found) > 0
}
