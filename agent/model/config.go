// Package model has what the clients of model servers are configured with. The
// packages below it are the clients: openai, anthropic and ollama by protocol,
// provider by the name of a provider, replay and demo without a server.
package model

import (
	"net/http"
	"time"
)

// Config names one model of one server. Only Model is required.
type Config struct {
	// Name is the operator's name for the model; empty: Model.
	Name string
	// BaseURL is the address of the server; empty: the provider's own.
	BaseURL string
	// Key authenticates requests; empty: none is sent. KeyEnv is the variable that
	// it usually comes from, EnvFile the file that may set it; hints name both. An
	// empty EnvFile is ".env".
	Key, KeyEnv, EnvFile string
	// Model is the provider's name for the model.
	Model string
	// Window is the context window in tokens; 0: ask the server, or the client's
	// default.
	Window int
	// KnownWindow is the window that weir's table of hosted services has for the
	// model, in tokens. It holds where Window is 0 and the server says none; 0: unknown.
	KnownWindow int
	// DropsHead says that the server drops the beginning of a prompt that is too long, and says
	// nothing. Requests that are passed through are refused then, if they have about more tokens
	// than Window.
	DropsHead bool
	// NativeTools reports whether the server supports tool calling; nil: the client
	// finds out.
	NativeTools *bool
	// StartInThought says that the model's template opens a thought at the end of the
	// prompt.
	StartInThought bool
	// HTTP is the client; nil: the default transport. Its Timeout would cut long
	// answers off; use FirstTimeout and StallTimeout.
	HTTP *http.Client
	// FirstTimeout is the wait for the first byte of an answer (0: 5 minutes, or
	// StallTimeout if that is longer), StallTimeout the wait between two pieces (0: 2
	// minutes); negative: no limit. A server that sends signs of life and no piece gets
	// three times FirstTimeout.
	FirstTimeout, StallTimeout time.Duration
	// Retries is the number of retries on 429, 5xx and connection errors; 0: 3,
	// negative: none. RetryBudget bounds their time; 0: one minute. RetryWait is the
	// wait before the first, about doubled every time; 0: 300 ms.
	Retries                int
	RetryBudget, RetryWait time.Duration
	// Headers are sent with every request; their values are treated as secrets.
	Headers map[string]string
	// Extra is merged into every request: into its body, for Ollama into its
	// options. The fields of a request itself have precedence. Members that the
	// client sets, such as model and messages, are refused.
	Extra map[string]any
	// OnRetry is called before every retry; nil: no call.
	OnRetry func(err error, wait time.Duration)
}
