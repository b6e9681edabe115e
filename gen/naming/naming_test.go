package naming

import (
	"go/token"
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
