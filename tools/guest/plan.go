package main

// plan is what the runner tells the first process of the guest.
type plan struct {
	Modules   []module
	Arguments []string
	Variables []string // K=V for the test
}

// Places in the guest's root file system. The test runs in testFolder, beside
// its testdata.
const (
	initFile     = "init"
	planFile     = "plan.json"
	moduleFolder = "modules"
	testFolder   = "test"
	testBinary   = testFolder + "/package.test"
)

// The guest's serial lines. The kernel's messages have a line of their own, so
// they never mix with the test's output or its exit code.
const (
	consoleLine = "/dev/ttyS0"
	outputLine  = "/dev/ttyS1"
	verdictLine = "/dev/ttyS2"
	profileLine = "/dev/ttyS3"
)

// verdictFormat is the line by which the guest tells the test's exit code.
const verdictFormat = "exit %d.\n"

// atWork is the line that the guest writes to its console each time that the test has used
// another five seconds of the processor.
const atWork = "guest: at work"
