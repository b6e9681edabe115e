// Package posts publishes the posts of deals and verifies that they stay (document 003, Creative &
// Delivery Transitions, Completion Transitions).
//
// A [Channel] is where posts are published. Folder directory has the default: a post is a file.
// Folder web has one behind HTTP. Folder posttest has the suite that both pass.
//
// A [Scheduler] publishes a post at its time, and a [Verifier] looks at it until its retention is over.
// Both carry out effects of the machine deal and fire its events, and keep what they do in a [Table]
// in the database of the deals. A post is worked at under a lease, so that several processes share the
// work. Neither the lease nor the clock is what makes a post one post:
//
//   - The channel publishes once by key, and the key is the id of the deal. A process that ends between
//     the publication and its row leaves a post that the next one finds.
//   - A post changes its state by compare-and-swap, so the first process that records a publication
//     decides its time, which is never before the post was there.
//   - An event has a key, so a deal takes it once.
//
// A delivery is decided by the looks that are stored, by a pure function: see [Terms]. A verifier that
// was not running leaves a gap between them, and a gap pays nothing: no event is fired, and the deadline
// of the deal leads on. No look is stored that is not later than the last, so a clock that goes back
// adds no evidence; one that jumps ahead by more than a gap leaves one. What was published, when, and
// what was seen of it can't be changed in the database.
package posts
