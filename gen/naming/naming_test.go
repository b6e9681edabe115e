package naming

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestGoIdentifiers(t *testing.T) {
	for _, tt := range []struct{ name, exported, unexported string }{
		{"OFFER_PENDING", "OfferPending", "offerPending"},
		{"pending_commit", "PendingCommit", "pendingCommit"},
		{"check-exists", "CheckExists", "checkExists"},
		{"upload.committed", "UploadCommitted", "uploadCommitted"},
		{"START", "Start", "start"},
		{"id", "ID", "id"},
		{"url_list", "URLList", "urlList"},
		{"issue_part_urls", "IssuePartURLs", "issuePartURLs"},
		{"IDS", "IDs", "ids"},
		{"tx_hash", "TxHash", "txHash"},
		{"node_id", "NodeID", "nodeID"},
		{"http_api", "HTTPAPI", "httpAPI"},
		{"json_sql_uuid", "JSONSQLUUID", "jsonSQLUUID"},
		{"sha256", "Sha256", "sha256"},
		{"utf8_text", "UTF8Text", "utf8Text"},
		{"identity", "Identity", "identity"},
		{"tls_dns_https", "TLSDNSHTTPS", "tlsDNSHTTPS"},
		{"s3_key", "S3Key", "s3Key"},
		{"sqs.delete_message", "SQSDeleteMessage", "sqsDeleteMessage"},
		{"run_uuid", "RunUUID", "runUUID"},
		{"objectUri", "ObjectURI", "objectURI"},
		{"dlq-drain", "DLQDrain", "dlqDrain"},
		{"type", "Type", "typeValue"},
		{"len", "Len", "lenValue"},
		{"3d", "X3d", "x3d"},
		{"été_id", "ÉtéID", "étéID"},
		{"--", "", ""},
	} {
		if got := Exported(tt.name); got != tt.exported {
			t.Errorf("Exported(%q) = %q, want %q", tt.name, got, tt.exported)
		}
		if got := Unexported(tt.name); got != tt.unexported {
			t.Errorf("Unexported(%q) = %q, want %q", tt.name, got, tt.unexported)
		}
	}
}

func FuzzIdentifiersAreValid(f *testing.F) {
	f.Add("pending_commit")
	f.Add("9-lives")
	f.Fuzz(func(t *testing.T, name string) {
		for _, id := range []string{Exported(name), Unexported(name)} {
			if id != "" && !token.IsIdentifier(id) {
				t.Errorf("%q derives %q, which is no identifier", name, id)
			}
		}
		if id := Exported(name); id != "" && !token.IsExported(id) {
			t.Errorf("%q derives %q, which is not exported", name, id)
		}
	})
}

func TestSQLIdentifiers(t *testing.T) {
	for name, want := range map[string]string{
		"OFFER_PENDING": "offer_pending", "upload.committed": "upload_committed", "check-exists": "check_exists",
	} {
		if got := Column(name); got != want {
			t.Errorf("Column(%q) = %q, want %q", name, got, want)
		}
	}
	for _, w := range []string{"select", "Order", "USER", "index", "transaction"} {
		if !IsSQLReserved(w) {
			t.Errorf("%q is not reserved", w)
		}
	}
	for _, w := range []string{"status", "reason", "payload", "version", "state"} {
		if IsSQLReserved(w) {
			t.Errorf("%q is reserved", w)
		}
	}
}

func TestFormsOfAnEvent(t *testing.T) {
	var got []string
	for _, f := range GoForms("event") {
		got = append(got, f.Of("commit_upload"))
	}
	want := []string{"CommitUpload", "EventCommitUpload", "FireCommitUpload", "CommitUploadFrom", "NewCommitUpload"}
	if len(got) != len(want) {
		t.Fatalf("got %v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got[i], want[i])
		}
	}
}

// TestInitialismsInEachPlace: a word that Go spells in one case is spelled so wherever it stands
// in a name, alone, as a plural, and however the spec spells it.
func TestInitialismsInEachPlace(t *testing.T) {
	if len(initialisms) < 30 {
		t.Fatalf("there are %d initialisms", len(initialisms))
	}
	wrong := misspelt()
	for word := range initialisms {
		upper := strings.ToUpper(word)
		several := upper + "s"
		if initialisms[word+"s"] { // https
			several = upper + "S"
		}
		for name, want := range map[string]string{
			word: upper, upper: upper, word + "s": several, upper + "S": several,
			"new_" + word: "New" + upper, word + "_of_part": upper + "OfPart", "part-" + word + "s-done": "Part" + several + "Done",
		} {
			if got := Exported(name); got != want {
				t.Errorf("Exported(%q) = %q, want %q", name, got, want)
			}
			if got := wrong.FindString(want); got != "" {
				t.Errorf("%q is found in %q", got, want)
			}
		}
		mixed := upper[:1] + strings.ToLower(upper[1:])
		for _, name := range []string{mixed, mixed + "s", "New" + mixed, "new" + mixed + "Part", mixed + "OfPart"} {
			if mixed != upper && !wrong.MatchString(name) {
				t.Errorf("nothing is found in %q", name)
			}
		}
	}
	for _, name := range []string{"Identity", "Sqlite", "Idle", "Update", "Htmlify", "IsHeld", "Urlside"} {
		if got := wrong.FindString(name); got != "" {
			t.Errorf("%q is found in %q", got, name)
		}
	}
}

// misspelt matches an initialism in mixed case, alone or as a plural, within an identifier.
func misspelt() *regexp.Regexp {
	var mixed []string
	for _, word := range slices.Sorted(maps.Keys(initialisms)) {
		if spelt := strings.ToUpper(word[:1]) + word[1:]; spelt != strings.ToUpper(word) {
			mixed = append(mixed, spelt)
		}
	}
	return regexp.MustCompile("(" + strings.Join(mixed, "|") + ")s?([^a-z]|$)")
}

// TestGeneratedInitialisms: no exported identifier of the committed packages has an initialism in
// mixed case.
func TestGeneratedInitialisms(t *testing.T) {
	wrong, seen := misspelt(), map[string]bool{}
	for _, pattern := range []string{"../../generated/*/*.go", "../../examples/*/generated/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no generated code found: %v", pattern, err)
		}
		for _, path := range files {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if id, ok := n.(*ast.Ident); ok && id.IsExported() && !seen[id.Name] {
					seen[id.Name] = true
					if found := wrong.FindString(id.Name); found != "" {
						t.Errorf("%s: %s has %s", path, id.Name, found)
					}
				}
				return true
			})
		}
	}
	if len(seen) < 1200 || !seen["IssuePartURLs"] {
		t.Errorf("%d exported identifiers were seen: the test looks in the wrong place", len(seen))
	}
}

func TestArticle(t *testing.T) {
	for name, want := range map[string]string{
		"abort_reason": "an", "quality": "a", "EVENT": "an", "user_role": "a", "unit": "a", "unidentified": "an", "Union": "a",
		"one_way": "a", "hour": "an", "house": "a", "http_code": "an", "s3_state": "an", "url": "a", "uuid_kind": "a", "id_kind": "an", "sla": "an",
		"dlq_state": "a", "updated": "an", "validation_error_type": "a", "-": "a",
	} {
		if got := Article(name); got != want {
			t.Errorf("Article(%q) = %q, want %q", name, got, want)
		}
	}
}
