// Package daemon serves the HTTP API of a service to those who may use it: with which
// token or certificate, by which name, how many at once, and for how long.
//
// # What it guarantees
//
//   - An address that is not loopback needs a token or client certificates: [Listen]
//     refuses to listen otherwise. A token file is read again when it changes, and
//     a file that can't be read refuses every request.
//   - A request names the daemon as the daemon knows itself, so that no foreign name
//     that resolves to this machine reaches the API (DNS rebinding), and a browser
//     sends none from a page of another origin.
//   - Headers, requests, answers and idle connections have time-outs, headers a
//     size, and connections a number.
//
// # What it must not know
//
// What the API does.
package daemon
