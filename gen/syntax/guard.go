package syntax

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fsmgen/fsmgen/gen/diag"
)

// The guard codes of document 001, Contract Load-Time Validation.
const (
	GuardSyntax   = diag.Code("GUARD_SYNTAX_ERROR")
	GuardOperator = diag.Code("GUARD_INVALID_OPERATOR")
	GuardField    = diag.Code("GUARD_INVALID_FIELD")
	GuardValueBad = diag.Code("GUARD_INVALID_VALUE")
)

// Guard is a parsed guard expression: exactly field, operator, value.
type Guard struct {
	Field, Op Token
	Value     GuardValue
}

// Token is a word of a guard. Offset counts characters from the start of the
// expression.
type Token struct {
	Text   string
	Offset int
}

// Len returns the token's length in characters.
func (t Token) Len() int { return utf8.RuneCountInString(t.Text) }

// GuardKind tells how a guard's value is written.
type GuardKind uint8

// The kinds of a guard value.
const (
	GuardBool GuardKind = iota + 1
	GuardNumber
	GuardText // an unquoted word
	GuardArray
	GuardRef     // $name; Text is without the $
	GuardPattern // a regular expression
)

// GuardValue is the third token. Items are the elements of an array.
type GuardValue struct {
	Token
	Kind  GuardKind
	Items []GuardValue
}

// GuardError is a malformed guard. Token is where it is malformed.
type GuardError struct {
	Code    diag.Code
	Token   Token
	Message string
	Help    string
}

// Error returns the message with its code.
func (e *GuardError) Error() string { return string(e.Code) + ": " + e.Message }

// Operators lists the valid operators in the order of document 001.
func Operators() []string {
	return []string{"==", "!=", "equals", "not_equals", "<", ">", "<=", ">=", "exists", "not_exists", "in", "not_in", "contains", "matches"}
}

// ParseGuard parses one expression (document 001, Guard Expression Syntax).
// Beyond the document the value may be $name, and a bracket group is one
// token. Order of checks: token count, field, operator, value.
func ParseGuard(text string) (Guard, *GuardError) {
	tokens := splitGuard(text)
	if err := countTokens(text, tokens); err != nil {
		return Guard{}, err
	}
	g := Guard{Field: tokens[0], Op: tokens[1]}
	if err := checkField(g.Field); err != nil {
		return Guard{}, err
	}
	if err := checkOperator(g.Op); err != nil {
		return Guard{}, err
	}
	value, err := parseGuardValue(g.Op.Text, tokens[2])
	if err != nil {
		return Guard{}, err
	}
	g.Value = value
	return g, nil
}

// splitGuard splits at spaces, tabs and line ends. A third token that opens
// with a bracket runs to the closing one, or to the end if there is none;
// not for matches, whose patterns may open with a bracket.
func splitGuard(text string) []Token {
	var tokens []Token
	runes := []rune(text)
	for i := 0; i < len(runes); {
		if isBlank(runes[i]) {
			i++
			continue
		}
		start := i
		group := runes[i] == '[' && len(tokens) == 2 && tokens[1].Text != "matches"
		for i < len(runes) && (group || !isBlank(runes[i])) {
			i++
			if group && runes[i-1] == ']' {
				break
			}
		}
		tokens = append(tokens, Token{strings.TrimRight(string(runes[start:i]), " \t\r\n"), start})
	}
	return tokens
}

func isBlank(r rune) bool { return r == ' ' || r == '\t' || r == '\n' || r == '\r' }

func countTokens(text string, tokens []Token) *GuardError {
	whole := Token{text, 0}
	const help = "write `field operator value` with blanks around the operator"
	switch len(tokens) {
	case 3:
		return nil
	case 0:
		if text != "" {
			return &GuardError{GuardSyntax, whole, "expression is empty after trimming whitespace", help}
		}
		return &GuardError{GuardSyntax, whole, "expression is empty", help}
	}
	return &GuardError{GuardSyntax, whole,
		"expression '" + strings.TrimSpace(text) + "' has " + strconv.Itoa(len(tokens)) + " token(s), expected exactly 3", help}
}

var fieldName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

func checkField(t Token) *GuardError {
	if fieldName.MatchString(t.Text) {
		return nil
	}
	msg := "field name '" + t.Text + "' is not a valid identifier"
	help := "use letters, digits and underscores, and a letter first"
	for i, r := range t.Text {
		switch {
		case i == 0 && r >= '0' && r <= '9' && strings.Trim(t.Text, "0123456789") != "":
			msg += " (cannot start with digit)"
		case !strings.ContainsRune("_", r) && !isAlnum(r):
			msg = "field name '" + t.Text + "' contains invalid character '" + string(r) + "'"
			if r == '.' || r == '[' {
				help = "guards read top-level fields only: flatten the value into a field of the event"
			}
			return &GuardError{GuardField, t, msg, help}
		}
	}
	return &GuardError{GuardField, t, msg, help}
}

func isAlnum(r rune) bool {
	return r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
}

// mistaken names the operator that people mean when they write another
// language's.
var mistaken = map[string]string{
	"like": "matches", "=": "==", "===": "==", "<>": "!=", "!==": "!=", "~=": "matches", "=~": "matches",
	"is": "==", "has": "contains", "eq": "==", "ne": "!=", "lt": "<", "gt": ">", "le": "<=", "ge": ">=",
}

func checkOperator(t Token) *GuardError {
	for _, op := range Operators() {
		if t.Text == op {
			return nil
		}
	}
	help := "valid operators: " + strings.Join(Operators(), ", ")
	meant := mistaken[t.Text]
	if meant == "" {
		meant = diag.Nearest(strings.ToLower(t.Text), Operators()[2:4])
	}
	if meant == "" {
		meant = diag.Nearest(strings.ToLower(t.Text), Operators()[8:])
	}
	if meant != "" {
		help = "did you mean '" + meant + "'? " + help
	}
	return &GuardError{GuardOperator, t, "unknown operator '" + t.Text + "'", help}
}

var (
	numberText = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?$`)
	scientific = regexp.MustCompile(`^[+-]?[0-9]+(\.[0-9]+)?[eE][+-]?[0-9]+$`)
	wordText   = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]*$`)
	refText    = regexp.MustCompile(`^\$[A-Za-z_][A-Za-z0-9_]*$`)
)

func parseGuardValue(op string, t Token) (GuardValue, *GuardError) {
	bad := func(msg, help string) (GuardValue, *GuardError) {
		return GuardValue{}, &GuardError{GuardValueBad, t, msg, help}
	}
	if op == "matches" {
		if size := PatternSize(t.Text); size > MaxPattern {
			return bad("the pattern compiles to about "+strconv.Itoa(size)+" instructions; at most "+strconv.Itoa(MaxPattern)+" are allowed",
				"repeat less: {n} counts n times; the length of a text is bounded by the field's `max`")
		}
		if _, err := regexp.Compile(t.Text); err != nil {
			return bad("invalid pattern '"+t.Text+"': "+strings.TrimPrefix(err.Error(), "error parsing regexp: "),
				"write a regular expression that Go's regexp package compiles (RE2: no look-around, no back references)")
		}
		return GuardValue{Token: t, Kind: GuardPattern}, nil
	}
	if strings.HasPrefix(t.Text, "[") {
		return parseArray(op, t)
	}
	v, err := parseScalar(t)
	if err != nil {
		return v, err
	}
	switch op {
	case "in", "not_in":
		return bad("operator '"+op+"' takes an array, not '"+t.Text+"'", "write a list such as [a, b]")
	case "exists", "not_exists":
		if v.Kind != GuardBool {
			return bad("operator '"+op+"' takes true or false, not '"+t.Text+"'", "write `"+op+" true` or `"+op+" false`")
		}
	case "<", ">", "<=", ">=":
		if v.Kind == GuardBool {
			return bad("operator '"+op+"' compares numbers, not '"+t.Text+"'", "compare booleans with == or !=")
		}
	}
	return v, nil
}

// parseScalar parses a bool, number, word or reference.
func parseScalar(t Token) (GuardValue, *GuardError) {
	bad := func(msg, help string) (GuardValue, *GuardError) {
		return GuardValue{}, &GuardError{GuardValueBad, t, msg, help}
	}
	lower := strings.ToLower(t.Text)
	switch {
	case t.Text == "true", t.Text == "false":
		return GuardValue{Token: t, Kind: GuardBool}, nil
	case lower == "true", lower == "false":
		return bad("invalid boolean value '"+t.Text+"' (must be lowercase 'true' or 'false')", "write "+lower)
	case lower == "null", lower == "nil", lower == "none" && t.Text != "none":
		return bad("invalid value '"+t.Text+"' (use 'exists' operator for null checks)", "write `field exists false`")
	case lower == "undefined":
		return bad("invalid value '"+t.Text+"' (use 'exists' operator for presence checks)", "write `field exists false`")
	case strings.ContainsAny(t.Text, `'"`+"`"):
		return bad("invalid value '"+t.Text+"' (string values should not be quoted)", "remove the quotes")
	case refText.MatchString(t.Text):
		return GuardValue{Token: Token{t.Text[1:], t.Offset + 1}, Kind: GuardRef}, nil
	case numberText.MatchString(t.Text):
		return GuardValue{Token: t, Kind: GuardNumber}, nil
	case scientific.MatchString(t.Text):
		return bad("invalid number '"+t.Text+"' (scientific notation is not supported)", "write the number out")
	case wordText.MatchString(t.Text):
		return GuardValue{Token: t, Kind: GuardText}, nil
	}
	return bad("invalid value '"+t.Text+"'", "write true, false, a number, a word of letters, digits, _ and -, $name, or a list such as [a, b]")
}

func parseArray(op string, t Token) (GuardValue, *GuardError) {
	bad := func(msg, help string) (GuardValue, *GuardError) {
		return GuardValue{}, &GuardError{GuardValueBad, t, msg, help}
	}
	inner, closed := strings.CutSuffix(t.Text[1:], "]")
	if !closed {
		return bad("unclosed array bracket in value '"+t.Text+"'", "close the list with ]")
	}
	if op != "in" && op != "not_in" {
		return bad("operator '"+op+"' takes one value, not the array '"+t.Text+"'", "use in or not_in with a list")
	}
	v := GuardValue{Token: t, Kind: GuardArray}
	offset := t.Offset + 1
	for _, part := range strings.Split(inner, ",") {
		lead := len(part) - len(strings.TrimLeft(part, " \t"))
		item := Token{strings.TrimSpace(part), offset + lead}
		offset += utf8.RuneCountInString(part) + 1
		if item.Text == "" {
			return bad("the array '"+t.Text+"' has an empty element", "write the elements with one comma between them")
		}
		element, err := parseScalar(item)
		if err != nil {
			return GuardValue{}, err
		}
		if element.Kind == GuardRef {
			return bad("the array '"+t.Text+"' names $"+element.Text+"; its elements are literals", "compare with == instead")
		}
		v.Items = append(v.Items, element)
	}
	return v, nil
}
