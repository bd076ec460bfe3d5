// Package session logs browsers in with a cookie that lasts.
//
// A browser sends the cookies of this machine to every port of it, so whoever serves
// another page here reads them. A cookie alone therefore opens nothing: a request also
// needs the session's key in a header. The page keeps the key in its storage, which no
// other port and no other site reads, and no other site can send the header. Scripts
// cannot read the cookie. A session ends with its token.
package session

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/setup"
	"github.com/weirhost/weir/host/daemon/store"
)

const (
	// lasts is how long a session is good, codeLasts how long a code is.
	lasts     = 90 * 24 * time.Hour
	codeLasts = time.Minute
	// maxSessions and maxCodes bound those of one principal; a new one ends the oldest.
	maxSessions = 32
	maxCodes    = 8
)

// A Store stores sessions.
type Store interface {
	Sessions(context.Context) ([]store.Session, error)
	PutSession(ctx context.Context, s store.Session, gone ...string) error
	DeleteSessions(ctx context.Context, ids ...string) error
	// Shared reports whether several daemons change them, and OnSessions tells when.
	Shared() bool
	OnSessions(f func())
}

// Sessions are the browsers that are logged in. Create it with New. It is safe for
// concurrent use.
type Sessions struct {
	setup *setup.Current
	store Store
	now   func() time.Time

	asking sync.Mutex // held while the store is asked, and what follows is not waited for
	read   time.Time  // when all was read last; asking guards it

	mu    sync.Mutex
	all   []store.Session // the oldest first
	codes []code          // the oldest first
	ended []string        // those that the store may still have
}

// A code is good for one login.
type code struct {
	digest, token, principal string
	expires                  time.Time
}

// New returns the stored sessions.
func New(ctx context.Context, current *setup.Current, db Store, now func() time.Time) (*Sessions, error) {
	all, err := db.Sessions(ctx)
	s := &Sessions{setup: current, store: db, now: now, all: all}
	if err == nil {
		db.OnSessions(func() { go s.reload(0) })
	}
	return s, err
}

// reload reads the sessions as they are now or later, at the earliest some time after it was
// done before.
func (s *Sessions) reload(least time.Duration) {
	now := time.Now()
	s.asking.Lock()
	defer s.asking.Unlock()
	if s.read.After(now) {
		return
	}
	time.Sleep(least - time.Since(s.read))
	s.read = time.Now()
	if all, err := s.store.Sessions(context.Background()); err == nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all = all
		s.drop(s.ended)
	}
}

// Whose returns the principal of a request's session; false: it has none that is good.
func (s *Sessions) Whose(r *http.Request) (principal string, ok bool) {
	one, ok := s.of(r)
	return one.Principal, ok
}

// of returns the session of a request. One of another site, or of another port of this
// machine, has none, whatever it sends.
func (s *Sessions) of(r *http.Request) (store.Session, bool) {
	cookie, err := r.Cookie(cookieName(r))
	key := r.Header.Get(api.HeaderSession)
	site := r.Header.Get("Sec-Fetch-Site")
	if err != nil || key == "" || site != "" && site != "same-origin" && site != "none" {
		return store.Session{}, false
	}
	id, given := digest(cookie.Value), digest(key)
	one, found := s.find(id)
	if !found && s.store.Shared() { // another daemon may have begun it just now
		s.reload(missTime)
		one, found = s.find(id)
	}
	if !found {
		return store.Session{}, false
	}
	token, there := s.setup.TokenDigest(one.Principal)
	good := subtle.ConstantTimeCompare([]byte(one.Key), []byte(given)) == 1 && s.now().Before(one.Expires) && there && token == one.Token
	return one, good
}

// missTime is the least time between two reads for sessions that are not known here.
const missTime = 50 * time.Millisecond

func (s *Sessions) find(id string) (store.Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.all, func(one store.Session) bool { return one.ID == id }); i >= 0 {
		return s.all[i], true
	}
	return store.Session{}, false
}

// begin stores a new session of a principal whose token has the digest, and returns the
// values of its cookie and key. It ends the session old; empty: none.
func (s *Sessions) begin(ctx context.Context, principal, token, old string) (cookie, key string, one store.Session, err error) {
	cookie, key = secret(), secret()
	now := s.now()
	one = store.Session{ID: digest(cookie), Key: digest(key), Token: token, Principal: principal, Created: now, Expires: now.Add(lasts)}
	s.asking.Lock()
	defer s.asking.Unlock()
	s.mu.Lock()
	gone := slices.Clone(s.ended)
	own := 0
	for _, x := range slices.Backward(s.all) {
		if x.Principal == principal {
			own++
		}
		if x.ID == old || !now.Before(x.Expires) || x.Principal == principal && own >= maxSessions {
			gone = append(gone, x.ID)
		}
	}
	s.mu.Unlock()
	if err := s.store.PutSession(ctx, one, gone...); err != nil {
		return "", "", one, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted(gone)
	s.drop(gone)
	s.all = append(s.all, one)
	return cookie, key, one, nil
}

// end ends sessions of a principal: the one with the id, or all if it is empty.
func (s *Sessions) end(ctx context.Context, principal, id string) error {
	s.mu.Lock()
	for _, x := range s.all {
		if x.Principal == principal && (id == "" || x.ID == id) {
			s.ended = append(s.ended, x.ID)
		}
	}
	gone := slices.Clone(s.ended)
	s.drop(gone) // even if the file stays as it is: no one comes in with them any more
	s.mu.Unlock()
	s.asking.Lock()
	defer s.asking.Unlock()
	if err := s.store.DeleteSessions(ctx, gone...); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleted(gone)
	return nil
}

// deleted says that the store does not have sessions any more.
func (s *Sessions) deleted(ids []string) {
	s.ended = slices.DeleteFunc(s.ended, func(id string) bool { return slices.Contains(ids, id) })
}

func (s *Sessions) drop(ids []string) {
	s.all = slices.DeleteFunc(s.all, func(x store.Session) bool { return slices.Contains(ids, x.ID) })
}

// addCode returns a code for one login of a principal whose token has the digest.
func (s *Sessions) addCode(principal, token string) api.LoginCode {
	text, now := secret(), s.now()
	c := code{digest(text), token, principal, now.Add(codeLasts)}
	s.mu.Lock()
	defer s.mu.Unlock()
	own := 0
	kept := []code{c}
	for _, x := range slices.Backward(s.codes) {
		if x.principal == principal {
			own++
		}
		if now.Before(x.expires) && (x.principal != principal || own < maxCodes) {
			kept = append(kept, x)
		}
	}
	slices.Reverse(kept)
	s.codes = kept
	return api.LoginCode{Code: text, Expires: c.expires}
}

// takeCode returns for whom a code is, once.
func (s *Sessions) takeCode(text string) (principal, token string, ok bool) {
	sum := digest(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.codes, func(c code) bool { return c.digest == sum })
	if i < 0 {
		return "", "", false
	}
	c := s.codes[i]
	s.codes = slices.Delete(s.codes, i, i+1)
	now, there := s.setup.TokenDigest(c.principal)
	return c.principal, c.token, s.now().Before(c.expires) && there && now == c.token
}

// secret returns 256 random bits as text.
func secret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // it never fails
	return hex.EncodeToString(b[:])
}

func digest(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// cookieName returns the name of the cookie, which has the port: a browser keeps the
// cookies of all ports together.
func cookieName(r *http.Request) string {
	if _, port, err := net.SplitHostPort(r.Host); err == nil {
		return "weir_" + port
	}
	return "weir"
}
