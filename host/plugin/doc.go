// Package plugin holds the nouns that a host and its users share: what a plugin
// is and what state it is in (Info), what it asks for and is granted (Ask, Grant),
// what a person sees before approving a version (Review), and why a request about
// a plugin failed (Error). It holds data only; package host acts on it. The JSON
// form of its types is part of the HTTP API.
package plugin
