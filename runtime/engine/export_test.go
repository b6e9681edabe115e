package engine

// Answers is how many answers wait while others are being stored.
func (e *Engine[Tx]) Answers() int { return e.firings.Waiting() }
