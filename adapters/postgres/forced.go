package postgres

import (
	"github.com/fsmgen/fsmgen/runtime/store"
)

const insertForced = "INSERT INTO fsm_forced (machine, record_id, version, who, why, forced_at) VALUES ($1, $2, $3, $4, $5, $6)"

// forced queues the names of the operators that forced steps of a wave.
func (p *pipeline) forced(wave []*store.Commit) {
	for _, c := range wave {
		for _, s := range c.Steps {
			if f := s.Forced; f != nil {
				p.add(subject{commit: c}, insertForced, c.Machine, c.ID, s.Version, f.Who, f.Why, s.At)
			}
		}
	}
}
