// Package egress makes the outgoing HTTP requests of guests, under a policy.
// Scheme, host and port are checked for the first address and again for every
// redirect; the IP address is checked when it is dialled, so that a name that
// resolves to this machine or to a private network is refused. Proxies of the
// environment are not used, and there are no cookies.
//
// This package adds secrets to a header, only for the host they belong to. A guest
// never sees one: each answer, errors included, is searched for secrets as a whole,
// so chunk borders do not matter. The search finds a value as it is, reversed, in
// hex, in base64 at any offset of a longer text, and as URLs, JSON, HTML and Go
// write it; values under six bytes are not searched for. This protects against
// accidents and echoes; a server that receives a secret could still return it in
// another encoding.
//
// # Files
//
//   - egress: the policy
//   - rule: hosts
//   - address: addresses
//   - do: one request
//   - secret, traces: secrets, and keeping them from answers
//   - refusal, reason: what was refused, why it failed
package egress
