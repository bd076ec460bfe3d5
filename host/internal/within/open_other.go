//go:build !unix

package within

// nonblock is nothing where folders hold no pipes.
const nonblock = 0
