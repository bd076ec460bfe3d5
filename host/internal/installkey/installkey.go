// Package installkey has the key of an installation, with which weir seals what it stores
// and must read back unchanged, such as the states of scripts. The key is random. It is in
// the database, wrapped by a key that comes from the operator's token: who can write the
// database alone can neither read nor alter what is sealed. It knows nothing of what it
// seals.
package installkey

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/weirhost/weir/host/internal/sqlite"
)

// Errors of Unseal.
var (
	// ErrOther says that something was sealed by another key: the token was replaced.
	ErrOther = errors.New("it was sealed by another key")
	// ErrChanged says that something is not what was sealed, or not for this purpose.
	ErrChanged = errors.New("it is not what was sealed")
)

//go:embed migrations
var migrations embed.FS

// Schema returns the table of keys.
func Schema() sqlite.Schema { return sqlite.Embedded("keys", migrations) }

// A Key seals and unseals. It is safe for concurrent use.
type Key struct {
	aead cipher.AEAD
	name [NameBytes]byte // begins all that it has sealed
}

const keyBytes = 32

// NameBytes is how many bytes at the beginning of what is sealed name the key.
const NameBytes = 8

// Open returns the key of the installation that a token opens, and makes one if there is
// none. token must not be empty.
func Open(ctx context.Context, db *sqlite.DB, token string) (*Key, error) {
	if err := db.Migrate(ctx, Schema()); err != nil {
		return nil, err
	}
	w, err := wrapperOf(token)
	if err != nil {
		return nil, err
	}
	fresh := make([]byte, keyBytes)
	_, _ = rand.Read(fresh) // never fails: a failure ends the process
	const insert = "INSERT INTO installation_keys (id, wrapped) VALUES (?, ?) ON CONFLICT (id) DO NOTHING"
	if _, err := db.ExecContext(ctx, insert, w.id, w.wrap(fresh)); err != nil {
		return nil, sqlite.Wrap(ctx, "writing the installation's key", err)
	}
	plain, err := w.read(ctx, db)
	if err != nil {
		return nil, err
	}
	return newKey(plain)
}

// A wrapper is what comes from a token.
type wrapper struct {
	id   string
	aead cipher.AEAD
}

func wrapperOf(token string) (*wrapper, error) {
	if token == "" {
		return nil, errors.New("there is no token")
	}
	secret, err := hkdf.Key(sha256.New, []byte(token), nil, "weir: wraps the installation's key", keyBytes)
	if err != nil {
		return nil, err
	}
	id, err := hkdf.Key(sha256.New, []byte(token), nil, "weir: names the installation's key", NameBytes)
	if err != nil {
		return nil, err
	}
	aead, err := sealer(secret)
	return &wrapper{hex.EncodeToString(id), aead}, err
}

func (w *wrapper) wrap(key []byte) []byte { return w.aead.Seal(nil, nil, key, []byte(w.id)) }

// read returns the key that is stored for the token. The error may be sql.ErrNoRows.
func (w *wrapper) read(ctx context.Context, db *sqlite.DB) ([]byte, error) {
	var wrapped []byte
	if err := db.QueryRowContext(ctx, "SELECT wrapped FROM installation_keys WHERE id = ?", w.id).Scan(&wrapped); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			return nil, err
		}
		return nil, sqlite.Wrap(ctx, "reading the installation's key", err)
	}
	plain, err := w.aead.Open(nil, nil, wrapped, []byte(w.id))
	if err != nil {
		return nil, fmt.Errorf("the installation's key: %w", ErrChanged)
	}
	return plain, nil
}

func newKey(plain []byte) (*Key, error) {
	aead, err := sealer(plain)
	if err != nil {
		return nil, err
	}
	k := &Key{aead: aead}
	sum := sha256.Sum256(plain)
	copy(k.name[:], sum[:])
	return k, nil
}

// sealer returns AES-GCM that puts a random nonce in front.
func sealer(key []byte) (cipher.AEAD, error) {
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// Seal returns bytes that only Unseal can read, with the same key and for the same purpose.
func (k *Key) Seal(purpose string, plain []byte) []byte {
	return k.aead.Seal(k.name[:NameBytes:NameBytes], nil, plain, []byte(purpose))
}

// Sealed reports whether what begins so was sealed by this key.
func (k *Key) Sealed(head []byte) bool {
	return len(head) >= NameBytes && [NameBytes]byte(head) == k.name
}

// Unseal returns what was sealed. Errors are ErrOther and ErrChanged.
func (k *Key) Unseal(purpose string, sealed []byte) ([]byte, error) {
	if len(sealed) < NameBytes {
		return nil, ErrChanged
	}
	if !k.Sealed(sealed) {
		return nil, ErrOther
	}
	plain, err := k.aead.Open(nil, nil, sealed[NameBytes:], []byte(purpose))
	if err != nil {
		return nil, ErrChanged
	}
	return plain, nil
}
