//go:build !unix

package jail

// nonblock is nothing where folders hold no pipes.
const nonblock = 0
