// Package directory is a channel of posts in a folder: a post is a file, and the hash of its content
// is the evidence.
//
// A post appears whole or not at all: its content is written to a hidden file, synchronised, and
// linked to its name, which fails if the name is taken. So the file system needs hard links. Several
// processes may publish into one folder. The folder is opened once: if something else is mounted in
// its place later, the channel still looks at the folder that it has opened. A crash may leave a
// hidden file, whose name begins with a dot. It is no post, and may be removed while no process
// publishes.
//
// It needs the permission to make files in the folder, and nothing else.
package directory
