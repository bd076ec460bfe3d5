package daemon

// The content types of answers that are not JSON objects.
const (
	kindStream = "text/event-stream"
	kindText   = "text/plain"
	kindLines  = "application/x-ndjson"

	kindJSON     = "application/json"
	kindMarkdown = "text/markdown"
)
