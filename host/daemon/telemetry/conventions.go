package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
)

// The names of spans and attributes, by the GenAI and MCP conventions of OpenTelemetry
// as of 2026-11. The conventions are in development, and names have changed before.
const (
	opInvokeAgent = "invoke_agent"
	opChat        = "chat"
	opEmbed       = "embeddings"
	opExecuteTool = "execute_tool"
	methodCall    = "tools/call"

	keyOperation    = attribute.Key("gen_ai.operation.name")
	keyProvider     = attribute.Key("gen_ai.provider.name")
	keyAgent        = attribute.Key("gen_ai.agent.name")
	keyConversation = attribute.Key("gen_ai.conversation.id")
	keyModel        = attribute.Key("gen_ai.request.model")
	keyMaxTokens    = attribute.Key("gen_ai.request.max_tokens")
	keyTemperature  = attribute.Key("gen_ai.request.temperature")
	keyTopP         = attribute.Key("gen_ai.request.top_p")
	keySeed         = attribute.Key("gen_ai.request.seed")
	keyStop         = attribute.Key("gen_ai.request.stop_sequences")
	keyReplied      = attribute.Key("gen_ai.response.model")
	keyFinish       = attribute.Key("gen_ai.response.finish_reasons")
	keyInput        = attribute.Key("gen_ai.usage.input_tokens")
	keyOutput       = attribute.Key("gen_ai.usage.output_tokens")
	keyCacheRead    = attribute.Key("gen_ai.usage.cache_read.input_tokens")
	keyCacheWrite   = attribute.Key("gen_ai.usage.cache_creation.input_tokens")
	keyTool         = attribute.Key("gen_ai.tool.name")
	keyToolType     = attribute.Key("gen_ai.tool.type")
	keyToolCall     = attribute.Key("gen_ai.tool.call.id")
	keyError        = attribute.Key("error.type")
	keyServer       = attribute.Key("server.address")
	keyPort         = attribute.Key("server.port")
	keyMethod       = attribute.Key("mcp.method.name")

	// Attributes with what people, models and tools wrote; only with Tracing.Content.
	keySystem     = attribute.Key("gen_ai.system_instructions")
	keyMessagesIn = attribute.Key("gen_ai.input.messages")
	keyMessageOut = attribute.Key("gen_ai.output.messages")
	keyArguments  = attribute.Key("gen_ai.tool.call.arguments")
	keyResult     = attribute.Key("gen_ai.tool.call.result")

	// weir's own.
	keyTurn      = attribute.Key("weir.turn")
	keyMode      = attribute.Key("weir.mode")
	keyReason    = attribute.Key("weir.reason")
	keyRounds    = attribute.Key("weir.rounds")
	keyCalls     = attribute.Key("weir.calls")
	keyRepeats   = attribute.Key("weir.repeats")
	keyEstimated = attribute.Key("weir.usage.estimated")
	keyFormat    = attribute.Key("weir.call.format")
	keyProduced  = attribute.Key("weir.output.produced_characters")
	keyShown     = attribute.Key("weir.output.shown_characters")
	keyKept      = attribute.Key("weir.output.archived_characters")
	keyLimit     = attribute.Key("weir.output.limit")
	keyUnit      = attribute.Key("weir.output.limit_unit")
	keyLayer     = attribute.Key("weir.output.limit_by")
	keyArchive   = attribute.Key("weir.archive.id")
	keyInstance  = attribute.Key("weir.instance_seconds")
	keyCached    = attribute.Key("weir.cached")
)

// errorOther is the class of an error without a class of its own.
const errorOther = "_OTHER"

// providerName returns the conventions' name of a provider. A provider that they do
// not know keeps its name of tools.toml.
func providerName(name string) string {
	switch name {
	case "":
		return errorOther
	case "ark":
		return "volcengine"
	case "gemini":
		return "gcp.gemini"
	case "qwen", "qwen-intl":
		return "alibaba_cloud"
	}
	return name
}
