package golang

// Complexity lets the test of what was generated count as the generator does.
var Complexity = complexity
