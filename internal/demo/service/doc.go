// Package service is a small service that uses all ten machines: what somebody
// who adopts them has to write, and no more. It has the handlers of their
// effects, and the customers whose requests move the records on.
//
// The work is real: files are written, archives are packed and unpacked, rows
// are inserted within the step's transaction. The systems around the service
// are stand-ins: each is a folder, see Outside. No object store, no Consul, no
// chain and no device mapper is involved.
//
// It must not know how a record is stored or when an effect is carried out:
// that is the engine's.
package service
