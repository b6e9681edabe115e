package syntax_test

import (
	"testing"

	"github.com/fsmgen/fsmgen/gen/diag"
	"github.com/fsmgen/fsmgen/gen/syntax"
)

// Every valid example of document 001, sections Guard Expression Syntax and
// Guard Validation Rules.
func TestParseGuardValidExamples(t *testing.T) {
	for _, text := range []string{
		// Guard Definitions
		"payload exists true", "validation_result == passed", "validation_result == failed",
		"postgres_applied == true", "postgres_applied == false", "consul_applied == true", "consul_applied == false",
		"retry_count < 3", "retry_count >= 3",
		// Valid Format Examples
		"retry_count  <  3", "  retry_count < 3", "retry_count\t<\t3",
		// Examples by Operator Category
		"validation_result != failed", "status equals active", "error_code not_equals E001",
		"retry_count >= 0", "priority <= 5",
		"consul_error exists true", "optional_field not_exists true",
		"state in [registering_postgres, registering_consul, partial_registered]",
		"tags contains production", "environment not_in [dev, test]",
		"service_name matches ^node-.*", `version matches ^v[0-9]+\.[0-9]+$`, `version matches ^v[0-9]+\\.[0-9]+$`,
		// Common Pattern Examples
		"name matches .*_test$", `version matches ^v[0-9]+\.[0-9]+\.[0-9]+$`, "env matches (?i)^production", "name matches ^[a-z][a-z0-9_]*$",
		// Contract Validation Example
		"state in [active, pending]", "version matches ^v[0-9]+",
		// Edge cases: whitespace
		"  retry_count   <   3  ", "retry_count    <    3", "retry_count < 3\n", "retry_count < 3 ", "\tretry_count < 3\t",
		// Case sensitivity, boundary values, existence
		"PostgresApplied == true", "retry_count < -1", "priority <= 999999999", "count == 0", "value > -999",
		"field exists true", "field exists false", "field not_exists true", "field not_exists false",
		// Value Literal Syntax
		"rate < 3.14", "rate >= -0.5", "status == in_progress", "postgres_error not_exists true",
		// Whitespace around brackets and commas is ignored
		"environment in [ dev ,test ]",
		// Ours: a name on the right, an array element with a hyphen
		"digest == $expected_digest", "reason in [dlq-drain, incident]",
	} {
		if _, err := syntax.ParseGuard(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Every invalid example of the same sections, with its code and the part of
// the message that the document fixes.
func TestParseGuardInvalidExamples(t *testing.T) {
	const (
		count   = "token(s), expected exactly 3"
		field   = syntax.GuardField
		op      = syntax.GuardOperator
		bad     = syntax.GuardValueBad
		grammar = syntax.GuardSyntax
	)
	tests := []struct {
		text    string
		code    diag.Code
		message string
	}{
		{"retry_count<3", grammar, "expression 'retry_count<3' has 1 " + count},
		{"postgres_applied==true", grammar, "expression 'postgres_applied==true' has 1 " + count},
		{"retry_count< 3", grammar, "has 2 " + count},
		{"retry_count <3", grammar, "has 2 " + count},
		{"consul_applied!=false", grammar, "has 1 " + count},
		{"retry_count>=3", grammar, "has 1 " + count},
		{"priority<=5", grammar, "has 1 " + count},
		{"status!= active", grammar, "has 2 " + count},
		{"retry_count < 3 extra", grammar, "has 4 " + count},
		{"retry_count", grammar, "expression 'retry_count' has 1 " + count},
		{"retry_count <", grammar, "has 2 " + count},
		{"retry_count < ", grammar, "has 2 " + count},
		{"< 3", grammar, "has 2 " + count},
		{"", grammar, "expression is empty"},
		{"   ", grammar, "expression is empty after trimming whitespace"},
		{"postgres_applied", grammar, "has 1 " + count},
		{"field == == true", grammar, "has 4 " + count},
		{"state in [a, b] c", grammar, "has 4 " + count},

		{"2fast == true", field, "field name '2fast' is not a valid identifier (cannot start with digit)"},
		{"123 < 5", field, "field name '123' is not a valid identifier"},
		{"123field == true", field, "field name '123field' is not a valid identifier"},
		{"field-name == true", field, "field name 'field-name' contains invalid character '-'"},
		{"field.nested == true", field, "field name 'field.nested' contains invalid character '.'"},
		{"context.retry_count < 3", field, "contains invalid character '.'"},
		{"payload.node_id exists true", field, "contains invalid character '.'"},
		{"response.status_code == 200", field, "contains invalid character '.'"},
		{`config["timeout_ms"] > 5000`, field, "contains invalid character '['"},
		{"event.payload.status == active", field, "contains invalid character '.'"},

		{"count <=> 5", op, "unknown operator '<=>'"},
		{"status === active", op, "unknown operator '==='"},
		{"count ~= 5", op, "unknown operator '~='"},
		{"retry_count ~= 3", op, "unknown operator '~='"},
		{"status like pattern", op, "unknown operator 'like'"},
		{"status EQUALS active", op, "unknown operator 'EQUALS'"},

		{"postgres_applied == True", bad, "invalid boolean value 'True' (must be lowercase 'true' or 'false')"},
		{"postgres_applied == TRUE", bad, "invalid boolean value 'TRUE'"},
		{"consul_applied == FALSE", bad, "invalid boolean value 'FALSE'"},
		{"count < [a, b", bad, "unclosed array bracket in value '[a, b'"},
		{"count < [invalid", bad, "unclosed array bracket in value '[invalid'"},
		{"field == null", bad, "invalid value 'null' (use 'exists' operator for null checks)"},
		{"field == undefined", bad, "invalid value 'undefined' (use 'exists' operator for presence checks)"},
		{"field == 'quoted'", bad, "invalid value ''quoted'' (string values should not be quoted)"},
		{"rate < 1e5", bad, "scientific notation is not supported"},
		{"name matches (", bad, "invalid pattern '('"},
		{"name matches ^(?=x)", bad, "invalid pattern"},
		{"field exists yes", bad, "operator 'exists' takes true or false"},
		{"state in active", bad, "operator 'in' takes an array"},
		{"count == [a]", bad, "operator '==' takes one value"},
		{"count < true", bad, "operator '<' compares numbers"},
		{"tags in [a,,b]", bad, "empty element"},
	}
	for _, tt := range tests {
		_, err := syntax.ParseGuard(tt.text)
		if err == nil {
			t.Errorf("%q parses; want %s", tt.text, tt.code)
			continue
		}
		if err.Code != tt.code || !contains(err.Message, tt.message) {
			t.Errorf("%q:\n got %s: %s\nwant %s: %s", tt.text, err.Code, err.Message, tt.code, tt.message)
		}
		if err.Help == "" {
			t.Errorf("%q: no help", tt.text)
		}
	}
}

func TestParseGuardPointsAtTheToken(t *testing.T) {
	_, err := syntax.ParseGuard("  status like pattern")
	if err == nil || err.Token.Offset != 9 || err.Token.Text != "like" {
		t.Errorf("got %+v", err)
	}
	if !contains(err.Help, "did you mean 'matches'?") {
		t.Errorf("help is %q", err.Help)
	}
}

func FuzzGuard(f *testing.F) {
	f.Add("retry_count < 3")
	f.Add("state in [a, b]")
	f.Add("name matches ^[a-z]+$")
	f.Add("\xff == 'x'")
	f.Fuzz(func(t *testing.T, text string) {
		g, err := syntax.ParseGuard(text)
		if err != nil {
			if err.Help == "" || err.Message == "" {
				t.Errorf("%q: an error without message or help: %+v", text, err)
			}
			return
		}
		again, err := syntax.ParseGuard(g.Field.Text + " " + g.Op.Text + " " + sourceOf(g.Value))
		if err != nil || again.Value.Kind != g.Value.Kind || again.Value.Text != g.Value.Text {
			t.Errorf("%q reads differently once its blanks are folded: %+v, %v", text, again, err)
		}
	})
}

func sourceOf(v syntax.GuardValue) string {
	if v.Kind == syntax.GuardRef {
		return "$" + v.Text
	}
	return v.Text
}
