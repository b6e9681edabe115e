module github.com/fsmgen/fsmgen/bench

go 1.26

require (
	github.com/fsmgen/fsmgen v0.0.0
	github.com/looplab/fsm v1.0.3
	github.com/qmuntal/stateless v1.7.2
)

replace github.com/fsmgen/fsmgen => ../
