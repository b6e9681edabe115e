package posts_test

import (
	"database/sql"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/fsmgen/fsmgen/services/deal/posts"
)

// TestEvidenceDoesNotChange for a client of the database either.
func TestEvidenceDoesNotChange(t *testing.T) {
	t.Parallel()
	onBoth(t, evidence[*sql.Tx], func(f *fixture[pgx.Tx]) {
		evidence(f)
		for _, statement := range []string{"TRUNCATE deal_post_looks", "TRUNCATE deal_posts CASCADE"} {
			if err := f.says(statement); err == nil {
				f.Errorf("the database takes %s", statement)
			}
		}
	})
}

func evidence[T any](f *fixture[T]) {
	f.verifying(1)
	f.looks(1)
	before, looks := f.post(1)
	insert := "INSERT INTO deal_posts (deal_id, content, hash, state, publish_at, published_at) VALUES ('" + id(2).String() + "', "
	for _, statement := range []string{
		"UPDATE deal_posts SET content = 'x'", "UPDATE deal_posts SET hash = '" + posts.Hash([]byte("x")) + "'", "UPDATE deal_posts SET deal_id = '" + id(3).String() + "'",
		"UPDATE deal_posts SET published_at = '2025-01-01T00:00:00.000000Z'", "UPDATE deal_posts SET published_at = NULL, state = 'dropped'",
		"UPDATE deal_posts SET state = 'other'", "UPDATE deal_posts SET state = 'enabled'", "DELETE FROM deal_posts",
		"INSERT OR REPLACE INTO deal_posts SELECT deal_id, 'x', hash, state, publish_at, published_at, due_at, reason FROM deal_posts",
		"UPDATE deal_post_looks SET seen = seen", "DELETE FROM deal_post_looks",
		"INSERT OR REPLACE INTO deal_post_looks SELECT deal_id, looked_at, seen, 'x' FROM deal_post_looks",
		insert + "'x', 'hash', 'enabled', NULL, NULL)",
		insert + "'x', '" + posts.Hash(nil) + "', 'scheduled', NULL, NULL)",
		insert + "'x', '" + posts.Hash(nil) + "', 'passed', NULL, NULL)",
		insert + "'', '" + posts.Hash(nil) + "', 'enabled', NULL, NULL)",
		"INSERT INTO deal_post_looks (deal_id, looked_at, seen, hash) VALUES ('" + id(9).String() + "', '2026-01-01T00:00:00.000000Z', true, 'x')",
	} {
		if err := f.says(statement); err == nil {
			f.Errorf("the database takes %s", statement)
		}
	}
	if after, seen := f.post(1); fmt.Sprint(after, seen) != fmt.Sprint(before, looks) {
		f.Errorf("it was %v, %v, and is %v, %v", before, looks, after, seen)
	}
	must(f.T, f.says(insert+"'x', '"+posts.Hash(nil)+"', 'enabled', NULL, NULL)"))
}
