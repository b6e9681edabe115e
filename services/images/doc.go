// Package images carries images from an object store to a snapshot that is
// ready to run: the machines download, unpack and activate of document 002,
// with the handlers of their effects.
//
// # Use
//
//	s, err := images.Open(ctx, images.Options{Dir: "/var/lib/images", Objects: objects, Volumes: volumes})
//	…
//	result, err := s.Process(ctx, "images", "alpine.tar")
//
// Process asks for an image and waits until it is there. Any number of calls,
// in any number of processes that share the directory, may ask for one image:
// the work is done once.
//
// # Who works
//
// Of the processes that share a directory one works: the one that holds the
// lock of the directory, which the kernel takes back when the process dies. The
// others ask and wait; when the lock is free, one of them takes over, and goes
// on where the records say that the other was.
//
// # What is where
//
// images.db holds the three machines with their histories, the tables images,
// unpacked_images and snapshots, and which device an image has. Each row says what
// content it is about: the object in images, the checksum in all three. tars/ holds what
// was downloaded, temp/ what is being downloaded. The volumes are wherever
// Volumes keeps them.
package images
