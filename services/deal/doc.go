// Package deal is the service of deals (document 003): it carries out the effects of the machine deal,
// hears the chain, and puts the parts together. Its parts have folders of their own: the ledger, the
// deposits, the transfers and the posts.
//
// # What it guarantees
//
// What a step decides about money is booked and started in its transaction: the entry of the ledger,
// and the transfer that moves the money. Nothing is paid because a part was silent.
//
// # What it must not know
//
// HTTP, and where posts are published.
package deal
