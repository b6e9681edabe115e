// Package syntax reads a spec: YAML bytes become a tree of [Node] values with
// positions and comments, checked against the shape of the language.
//
// It is the only package that imports a YAML library. It knows which keys
// exist and what they may hold ([Language]), the grammar of guards
// ([ParseGuard]), and nothing of what names mean: that is package ir.
package syntax
