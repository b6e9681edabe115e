// Package simulate walks one machine by hand: it keeps a record, a clock and
// the record's deadline, and obeys one command a line.
//
// [Session] does the walking with the reference interpreter and prints
// nothing. [Session.Do] reads a command and answers with a [Reply], which
// [Reply.Text] and [Reply.JSON] render. Nothing happens by itself: an effect
// is shown, its answer is an event that the user fires; a deadline fires when
// the user advances the clock.
package simulate
