// Package posts publishes the posts of deals and verifies that they stay (document 003, Creative &
// Delivery Transitions, Completion Transitions).
//
// A [Channel] is where posts are published. Folder directory has the default: a post is a file.
// Folder web has one behind HTTP. Folder posttest has the suite that both pass.
package posts
