module github.com/fsmgen/fsmgen/bench

go 1.26.8

require (
	github.com/fsmgen/fsmgen v0.0.0
	github.com/looplab/fsm v1.0.3
	github.com/qmuntal/stateless v1.7.2
)

require (
	github.com/dave/jennifer v1.7.1 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/fsmgen/fsmgen => ../
