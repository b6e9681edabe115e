package fsm

// Handle calls handle with the payload of d, which must have the required fields.
func Handle[E any](d Dispatch, handle func(E) error, required ...string) error {
	e, err := PayloadOf[E](d, required...)
	if err != nil {
		return err
	}
	return handle(e)
}

// HandleAnswered is Handle for an effect that answers. bind makes the event of the answer.
func HandleAnswered[E, A any](d Dispatch, handle func(E) (A, error), bind func(A) (*Event, error), required ...string) (*Event, error) {
	e, err := PayloadOf[E](d, required...)
	if err != nil {
		return nil, err
	}
	answer, err := handle(e)
	if err != nil {
		return nil, err
	}
	return bind(answer)
}

// Query asks with the payload of d whether its effect has happened.
func Query[E any](d Dispatch, query func(E) (done bool, err error), required ...string) (bool, error) {
	e, err := PayloadOf[E](d, required...)
	if err != nil {
		return false, err
	}
	return query(e)
}

// QueryAnswered is Query for an effect that answers. bind makes the event of the answer.
func QueryAnswered[E, A any](d Dispatch, query func(E) (A, bool, error), bind func(A) (*Event, error), required ...string) (*Event, bool, error) {
	e, err := PayloadOf[E](d, required...)
	if err != nil {
		return nil, false, err
	}
	answer, done, err := query(e)
	if err != nil || !done {
		return nil, false, err
	}
	event, err := bind(answer)
	return event, err == nil, err
}
