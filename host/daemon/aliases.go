package daemon

import (
	"github.com/weirhost/weir/host/daemon/api"
	"github.com/weirhost/weir/host/daemon/telemetry"
)

// Names of package api for packages that do not import it yet.
type (
	Problem           = api.Problem
	Ask               = api.Ask
	Approval          = api.Approval
	ApprovalAnswered  = api.ApprovalAnswered
	ChatEnd           = api.ChatEnd
	ChatStart         = api.ChatStart
	Folded            = api.Folded
	Load              = api.Load
	ModelRepeated     = api.ModelRepeated
	Plan              = api.Plan
	QuotaState        = api.QuotaState
	TextPiece         = api.TextPiece
	ToolCallMalformed = api.ToolCallMalformed
	ToolCallProgress  = api.ToolCallProgress
	ToolCallResult    = api.ToolCallResult
	ToolCallStart     = api.ToolCallStart
	Trace             = api.Trace
	TraceCall         = api.TraceCall
	TraceHead         = api.TraceHead
	TraceList         = api.TraceList
	Tracing           = telemetry.Tracing
	TraceRound        = api.TraceRound
)
