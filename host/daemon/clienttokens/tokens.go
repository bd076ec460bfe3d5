// Package clienttokens has the tokens that are made for client programs, such as coding
// agents: a program stores its token in a file of its own, where its tools may read it. So
// the token opens the routes of openapi.Client alone, answers no approval, and ends with
// the token that made it. The daemon stores digests.
package clienttokens

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"

	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
)

// prefix is that of each token: no other text is looked up.
const prefix = "weir_client_"

// patience is how long a look-up may take.
const patience = 5 * time.Second

// most bounds the tokens of one principal.
const most = 100

// A Store stores tokens. All daemons of a database have the same.
type Store interface {
	ClientToken(ctx context.Context, digest string) (t store.ClientToken, ok bool, err error)
	ClientTokens(ctx context.Context, principal, owner string) ([]store.ClientToken, error)
	PutClientToken(ctx context.Context, t store.ClientToken) error
	DeleteClientTokens(ctx context.Context, digests ...string) error
}

// Tokens are the tokens. It is safe for concurrent use.
type Tokens struct {
	Setup *setup.Current
	Store Store
}

// Whose returns whose request one with that token is, and for which client the token was
// made; false: it is no such token, or does not hold any more.
func (t *Tokens) Whose(ctx context.Context, token string) (principal, client string, ok bool, err error) {
	if !strings.HasPrefix(token, prefix) {
		return "", "", false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	one, ok, err := t.Store.ClientToken(ctx, digest(token))
	if err != nil || !ok {
		return "", "", false, err
	}
	owner, there := t.Setup.TokenDigest(one.Principal)
	return one.Principal, one.Client, there && owner == one.Owner, nil
}

// add makes a token of a principal whose own token has the digest owner.
func (t *Tokens) add(ctx context.Context, principal, owner, client string, now time.Time) (token string, one store.ClientToken, err error) {
	var raw [32]byte
	_, _ = rand.Read(raw[:]) // it never fails
	token = prefix + base64.RawURLEncoding.EncodeToString(raw[:])
	one = store.ClientToken{Digest: digest(token), Owner: owner, Principal: principal, Client: client, Created: now}
	return token, one, t.Store.PutClientToken(ctx, one)
}

func digest(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}
