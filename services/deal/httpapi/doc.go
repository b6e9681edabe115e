// Package httpapi is the HTTP API of deals: it turns requests into events of a deal, and what becomes
// of them into answers.
//
//	POST /v1/deals                  {"owner_id": 7, "price_nano": 5000000000}: makes a deal
//	GET  /v1/deals?state=FUNDED     the deals of the caller, or of party=N; after=ID and limit=N for
//	                                the next ones
//	GET  /v1/deals/{id}             the deal, its books, what is awaited, what the caller may do now
//	GET  /v1/deals/{id}/history     the transitions that it took; after=VERSION for the later ones
//	POST /v1/deals/{id}/{event}     an event of spec/deal.yaml, as in /accept and /counter-offer, with
//	                                its payload as body
//
// Every request has a token: Authorization: Bearer TOKEN. It says who is calling, and the deal says
// what the caller is in it: its advertiser, its owner, an admin of the owner's channel, or an operator.
// For everyone else a deal is not there.
//
// An answer about a deal has an ETag, its version. An event with it as If-Match is accepted only if the
// deal is still as it was then. An event with an Idempotency-Key is answered like the first time when it
// is repeated, and a creation with one makes one deal.
//
// What was not accepted is answered with a [Problem] (RFC 9457, application/problem+json).
package httpapi
