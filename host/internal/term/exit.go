package term

import "fmt"

// The exit codes of the command line.
const (
	ExitFailed      = 1
	ExitUsage       = 2 // wrong flags, arguments or configuration
	ExitModel       = 3 // a request to a model failed
	ExitTool        = 4 // a tool call failed
	ExitInterrupted = 130
)

// An ExitError is the exit code of a command that has already reported what
// failed.
type ExitError int

// Error returns the code.
func (e ExitError) Error() string { return fmt.Sprintf("exit %d", int(e)) }
