// Package mermaid draws a machine as Mermaid `stateDiagram-v2` text.
//
// The picture is for people, so it leaves out what would hide the shape: log
// lines and metrics, effects that the machine does on every row, and rows that
// refuse. A wildcard row is one edge from a state drawn for it. The tables of
// package docs have all of these.
package mermaid
