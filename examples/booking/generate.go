package main

//go:generate go run ../../cmd/fsmgen generate
