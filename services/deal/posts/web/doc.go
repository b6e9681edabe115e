// Package web is a channel of posts behind HTTP.
//
// The server keeps each post at the URL of the channel, a slash, and the key:
//
//   - PUT with the content as body and the key in Idempotency-Key makes the post. 200, 201 and 204 say
//     that it is there with this content, whichever request made it; 409 and 422 that the key has
//     another post, which stays.
//   - GET answers 200 with the bytes of the post, or 404 or 410 if there is none.
//
// Any other status is an error. Of a PUT, the codes 400 to 499 refuse the post for good, apart from
// those that say nothing of the post: 401 and 407 (the credentials), 408, 425 and 429 (the time). All
// others, 500 to 599 among them, may be met by another attempt, as a server that can't be reached may.
// Redirects are not followed: the token is for the configured server.
package web
