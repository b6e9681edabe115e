// Package extract unpacks the tar of an image into a directory, or checks it
// without writing. Nothing that the archive says is trusted: whatever it holds,
// nothing is written outside of the root, and no link is ever followed.
//
// An object is one tar (document 002: rootfs/, etc/, usr/ and var/ at its top),
// plain or packed with gzip or zstd, which its first bytes tell. An archive of
// archives, as "docker save" writes it, is not unpacked twice: the document
// knows no manifest. Layers are extracted one after another into one root, by
// one call of Extract each; whiteouts (.wh.NAME, .wh..wh..opq) remove what
// earlier calls left, never what the same archive brings.
//
// Two things stand between an archive and the disk. The checker (checker.go) reads
// headers and keeps the kind of every name; Check and Extract share it, so they
// refuse the same. The tree (tree.go) does the writing and trusts no input: it
// opens directories one component at a time without following links, and
// creates files only where nothing is.
//
// What is refused, with a *RefusedError: absolute names and names with "..";
// names that lead through a link or a file; entries that replace something of
// another kind (a file over a symbolic link, a directory over a file); hard
// links to anything but a regular file of this archive; device nodes and named
// pipes, unless allowed; more bytes, entries, nesting, headers, longer names or a
// higher ratio of compression than Options say; owners that no kernel knows; kinds of entries that are no files.
// The target of a symbolic link is text and may say anything: it has its
// meaning where the image runs.
//
// Set-user-ID and set-group-ID of files and file capabilities are left out, unless
// Options say otherwise.
//
// A name may hold newlines and any other byte but NUL and the slash, as on
// Linux; messages quote it.
//
// Of extended attributes (PAX records SCHILY.xattr.*) those of a regular file
// or a directory are set, except trusted.*, which speak to the host's kernel
// and not to the image. What the file system or the rights at hand don't
// support is left out and counted in Report.
package extract
