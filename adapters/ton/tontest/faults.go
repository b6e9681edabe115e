package tontest

// Faults are what is wrong with a liteserver. The zero value is none.
type Faults struct {
	// Send is what happens to the next messages that are sent.
	Send SendFault
	// Silent lets queries go without an answer.
	Silent bool
	// Behind is how many blocks the liteserver lacks.
	Behind uint32
	// OldBlock answers a query for an account from the block before the one that was asked for.
	OldBlock bool
	// ForgedAccount answers a query for an account with a state of which no block knows, ten times as
	// rich, and with a proof that fits only itself.
	ForgedAccount bool
	// ForeignValidator has the signatures of blocks made with another key.
	ForeignValidator bool
	// ForgedBlock answers a query for a block with another block.
	ForgedBlock bool
}

// SendFault is a fault of sendMessage.
type SendFault int

const (
	// SendWorks has no fault.
	SendWorks SendFault = iota
	// CutBefore ends the connection before the message is taken.
	CutBefore
	// CutDuring takes the message, and ends the connection before it answers.
	CutDuring
	// CutAfter takes the message, answers, and ends the connection when the client uses it again.
	CutAfter
	// Forget answers that the message is taken, and drops it.
	Forget
)

// Break sets what is wrong with the liteserver.
func (s *Server) Break(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Repair takes all faults away.
func (s *Server) Repair() { s.Break(Faults{}) }
