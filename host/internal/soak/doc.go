// Package soak holds no code but a test: the shipped tools are called very often,
// with random arguments, by many callers at once, in this process and in
// workers. Every answer must be the one that a fresh instance gives for the same
// arguments, whatever was called, cut short or refused before, and nothing may
// grow. The short form runs with all other tests; `make soak` runs the long one.
package soak
