// Package egress makes the outgoing HTTP requests of guests, under a policy.
// Scheme, host and port are checked for the first address and again for every
// redirect; the IP address is checked when it is dialled, so that a name that
// resolves to this machine or to a private network is refused whatever its
// owner says. Proxies of the environment are not used, and there are no
// cookies.
//
// Secrets are put into a header here, for the host they belong to and nobody
// else. A guest never sees one: what comes back, errors included, is searched
// for it, as a whole, so that the borders of chunks do not matter. It is found
// as it is, reversed, in hex, in base64 at any place of a longer text, and as
// URLs, JSON, HTML and Go write it; values under six bytes are not searched
// for. That is protection against accidents and echoes; a server that a secret
// is sent to knows it and could return it in another disguise.
package egress
