package api

import "time"

// A NewClientToken is the body of POST /api/client-tokens.
type NewClientToken struct {
	// Client is the program's name in lower case, by which [clients.NAME] has its settings.
	Client string `json:"client"`
}

// A MadeClientToken is a new token. Nobody can read it again.
type MadeClientToken struct {
	ClientToken
	Token string `json:"token"`
}

// A ClientToken is a token that was made for a client program, without the token itself.
type ClientToken struct {
	// ID is the beginning of the token's SHA-256, in hexadecimal.
	ID      string    `json:"id"`
	Client  string    `json:"client"`
	Created time.Time `json:"created_at"`
}

// ClientTokenIDLen is the length of ClientToken.ID in digits.
const ClientTokenIDLen = 16

// ClientTokens are those of one principal, the oldest first.
type ClientTokens struct {
	Tokens []ClientToken `json:"tokens"`
}
