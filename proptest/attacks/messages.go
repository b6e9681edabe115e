package attacks

// messageAttacks are on the engine's own tables.
func messageAttacks() []Attack {
	return []Attack{
		{
			Name: "a key is given back", On: Messages, Refused: "fsm_keys",
			SQL: []string{`DELETE FROM fsm_keys WHERE machine = 'deal'`},
		},
	}
}
