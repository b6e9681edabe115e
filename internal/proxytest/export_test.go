package proxytest

// Turns counts the round trips until now.
func (p *Proxy) Turns() int { return p.roundTrips() }
