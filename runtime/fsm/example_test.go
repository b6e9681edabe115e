package fsm_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/fsmgen/fsmgen/runtime/fsm"
)

// An optional field is a value of its own: absent is not the zero value.
func ExampleOptional() {
	paid, open := fsm.Some(int64(0)), fsm.None[int64]()
	fmt.Println(paid.IsSet, open.IsSet, open.Or(-1))
	text, err := json.Marshal(open)
	fmt.Println(string(text), err)
	// Output:
	// true false -1
	// null <nil>
}

// A payload from outside is read strictly.
func ExampleDecode() {
	type pay struct {
		Amount int64 `json:"amount"`
	}
	e, err := fsm.Decode[pay]("order", "pay", []byte(`{"amount": 4200}`), "amount")
	fmt.Println(e.Amount, err)
	for _, text := range []string{`{}`, `{"amount": 1, "Amount": 2}`, `{"amount": 1, "currency": "EUR"}`} {
		_, err := fsm.Decode[pay]("order", "pay", []byte(text), "amount")
		fmt.Println(errors.Is(err, fsm.ErrInvalidEvent))
	}
	// Output:
	// 4200 <nil>
	// true
	// true
	// true
}

// How long a worker waits before each repeat, without jitter.
func ExampleRetryPolicy_Backoff() {
	p := fsm.RetryPolicy{First: time.Second, Factor: 2, Max: 3 * time.Second, Attempts: 3}
	for attempt := 1; ; attempt++ {
		delay, ok := p.Backoff(attempt, 0.5)
		if !ok {
			break
		}
		fmt.Println(delay)
	}
	// Output:
	// 1s
	// 2s
	// 3s
}

// An id in its text form.
func ExampleParseUUID() {
	id, err := fsm.ParseUUID("5F0C3A0E-0000-4000-8000-000000000001")
	fmt.Println(id, err)
	_, err = fsm.ParseUUID("42")
	fmt.Println(err != nil)
	// Output:
	// 5f0c3a0e-0000-4000-8000-000000000001 <nil>
	// true
}
