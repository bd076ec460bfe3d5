// The types of the daemon's routes. go test ./host/daemon -run OpenAPI -update writes this file.

export interface AgentCost {
  amount: number;
  currency: string;
}

export interface AgentFailure {
  hint?: string;
  message: string;
}

export interface AgentFoldedResult {
  call_id: string;
  text: string;
  turn: number;
}

export interface AgentParts {
  history: number;
  notes: number;
  question: number;
  replies: number;
  results: number;
  system: number;
}

export interface AgentRemark {
  answering?: string;
  failed?: Record<string, AgentFailure> | null;
  failing?: string;
  from?: string;
  loaded?: boolean;
  malformed?: string;
  plan?: string[] | null;
  recalled?: number;
  to?: string;
}

export interface AgentSource {
  n: number;
  title: string;
  url: string;
}

export interface AgentSpan {
  from: number;
  to: number;
}

export interface AgentToolCost {
  brief?: boolean;
  name: string;
  tokens: number;
}

export interface AgentUsage {
  cache_write_tokens?: number;
  cached_prompt_tokens?: number;
  completion_tokens: number;
  estimated?: boolean;
  prompt_tokens: number;
  reasoning_tokens?: number;
}

export interface Answer {
  answer: string;
  only?: number[] | null;
}

export interface Answered {
  answer: string;
  id: string;
  only?: number[] | null;
}

export interface Approval {
  always: string;
  arguments: string;
  asked_at: string;
  call_id: string;
  calls?: ApprovalCall[] | null;
  conversation_id: string;
  expires_at: string;
  id: string;
  left_out?: number;
  plugin?: string;
  script?: string;
  tool: string;
  why: string;
}

export interface ApprovalAnswered {
  answer: string;
  call_id: string;
  id: string;
  only?: number[] | null;
}

export interface ApprovalCall {
  arguments: string;
  from?: Record<string, string> | null;
  left_out?: number;
  number: number;
  tool: string;
}

export interface ApprovalList {
  approvals: Approval[] | null;
}

export interface ApprovalWaiting {
  call_id: string;
  id: string;
  seconds_left: number;
}

export interface ArchiveList {
  archives: ArchiveRow[] | null;
}

export interface ArchivePage {
  arguments: unknown;
  bytes: number;
  chars: number;
  clipped?: ClippedLine[] | null;
  conversation_id: string;
  created_at: string;
  lines: number;
  loads: number;
  matches?: number;
  next_offset?: number;
  pruned?: boolean;
  query: string;
  selected_chars: number;
  shown?: ShownPart | null;
  sources?: ToolSource[] | null;
  summary: string;
  text: string;
  thread_id?: string;
  tool: string;
  uuid: string;
}

export interface ArchiveRow {
  arguments: unknown;
  bytes: number;
  chars: number;
  conversation_id: string;
  created_at: string;
  lines: number;
  loads: number;
  pruned?: boolean;
  query: string;
  shown?: ShownPart | null;
  sources?: ToolSource[] | null;
  summary: string;
  thread_id?: string;
  tool: string;
  uuid: string;
}

export interface Ask {
  approvals?: boolean;
  attached?: Attachment[] | null;
  conversation_id?: string;
  explain?: boolean;
  load_uuids?: (string | Record<string, unknown>)[] | null;
  message?: string;
  model?: string;
  profile?: string;
  resume?: boolean;
  thread_id?: string;
  without?: string[] | null;
}

export interface AskedCall {
  function?: {
    arguments?: string;
    name?: string;
  };
  id?: string;
  type?: string;
}

export interface AskedMessage {
  content?: unknown;
  function_call?: unknown;
  refusal?: string;
  role?: string;
  tool_call_id?: string;
  tool_calls?: AskedCall[] | null;
}

export interface AskedTool {
  function?: {
    description?: string;
    name?: string;
    parameters?: unknown;
  };
  type?: string;
}

export interface Attachment {
  name?: string;
  text?: string;
}

export interface Budget {
  tokens: number;
  window: number;
}

export interface CallBody {
  arguments?: unknown;
  conversation_id?: string;
  locale?: string;
}

export interface ChangesChange {
  added: string[] | null;
  changed: string[] | null;
  refused: string[] | null;
  removed: string[] | null;
  waiting: string[] | null;
}

export interface ChatEnd {
  answer: string;
  asides?: Spent[] | null;
  calls: number;
  conversation_id: string;
  cost?: AgentCost | null;
  elapsed_ms: number;
  error?: Problem | null;
  faults: number;
  kept_chars: number;
  model: string;
  pending?: ToolCallStart[] | null;
  produced_chars: number;
  reason: string;
  reasoning?: string;
  refaults: number;
  results?: ToolCallResult[] | null;
  rounds: number;
  shown_chars: number;
  sources?: AgentSource[] | null;
  thrash: number;
  unsaved?: boolean;
  usage: AgentUsage;
}

export interface ChatStart {
  began_at: string;
  conversation_id: string;
  limit: number;
  limits?: PluginLimitGroup[] | null;
  locale: string;
  mode: string;
  model: string;
  resumable: boolean;
  simulated: boolean;
  turn: number;
  why: string;
  window: number;
}

export interface ClientToken {
  client: string;
  created_at: string;
  id: string;
}

export interface ClientTokens {
  tokens: ClientToken[] | null;
}

export interface ClippedLine {
  chars: number;
  line: number;
}

export interface Completion {
  choices: CompletionChoice[] | null;
  created: number;
  id: string;
  model: string;
  object: string;
  usage?: CompletionUsage | null;
  weir?: CompletionNote | null;
}

export interface CompletionAnnotation {
  type: string;
  url_citation: CompletionCitation;
}

export interface CompletionBody {
  audio?: unknown;
  frequency_penalty?: number | null;
  function_call?: unknown;
  functions?: unknown;
  logit_bias?: Record<string, number> | null;
  logprobs?: boolean;
  max_completion_tokens?: number | null;
  max_tokens?: number | null;
  messages: AskedMessage[] | null;
  metadata?: Record<string, string> | null;
  modalities?: string[] | null;
  model?: string;
  n?: number | null;
  parallel_tool_calls?: boolean | null;
  presence_penalty?: number | null;
  reasoning_effort?: string;
  response_format?: {
    json_schema?: {
      name?: string;
      schema?: unknown;
      strict?: boolean;
    };
    type?: string;
  } | null;
  seed?: number | null;
  stop?: unknown;
  stream?: boolean;
  stream_options?: {
    include_usage?: boolean;
  };
  temperature?: number | null;
  tool_choice?: unknown;
  tools?: AskedTool[] | null;
  top_p?: number | null;
  web_search_options?: unknown;
  weir_tools?: boolean | null;
}

export interface CompletionCall {
  function: CompletionFunction;
  id: string;
  index?: number | null;
  type: string;
}

export interface CompletionChoice {
  delta?: CompletionMessage | null;
  finish_reason: string | null;
  index: number;
  logprobs: {
  } | null;
  message?: CompletionMessage | null;
}

export interface CompletionCitation {
  end_index: number;
  start_index: number;
  title: string;
  url: string;
}

export interface CompletionFunction {
  arguments: string;
  name: string;
}

export interface CompletionMessage {
  annotations?: CompletionAnnotation[] | null;
  content?: string | null;
  reasoning_content?: string;
  role?: string;
  tool_calls?: CompletionCall[] | null;
}

export interface CompletionNote {
  conversation_id: string;
  reason: string;
  requests: number;
  results?: ToolCallResult[] | null;
}

export interface CompletionUsage {
  completion_tokens: number;
  completion_tokens_details: {
    reasoning_tokens: number;
  };
  prompt_tokens: number;
  prompt_tokens_details: {
    cached_tokens: number;
  };
  total_tokens: number;
}

export interface Configuration {
  settings: unknown;
  version: string;
}

export interface ConfiguredModel {
  default: boolean;
  model: string;
  name: string;
  provider: string;
  simulated: boolean;
  window: number;
}

export interface ConfiguredModels {
  models: ConfiguredModel[] | null;
}

export interface ConfiguredProfile {
  default: boolean;
  limit: number;
  model: string;
  name: string;
  recommended_least?: number;
  recommended_most?: number;
  why: string;
  window: number;
}

export interface ConversationHit {
  conversation_id: string;
  created_at: string;
  line: number;
  message: number;
  snippet: string;
  title: string;
  turn: number;
  where: string;
}

export interface ConversationList {
  conversations: ConversationRow[] | null;
  next?: string;
}

export interface ConversationRow {
  archive_bytes: number;
  archives: number;
  cached_prompt_tokens?: number;
  calls: number;
  client?: string;
  completion_tokens: number;
  cost?: Cost[] | null;
  created_at: string;
  cut: number;
  id: string;
  label?: string;
  messages: number;
  models: string[] | null;
  passed?: boolean;
  profile: string;
  prompt_tokens: number;
  title: string;
  turns: number;
  updated_at: string;
}

export interface ConversationsFound {
  hits: ConversationHit[] | null;
  stopped: boolean;
}

export interface Cost {
  amount: number;
  currency: string;
}

export interface CutBody {
  head?: number;
  keep?: string[] | null;
  keep_context?: number;
  locale?: string;
  max_chars?: number;
  max_lines?: number;
  max_tool_result_length?: number | null;
  strategy?: string;
  tail?: number;
  text?: string | null;
  tool?: string;
  uuid?: string;
}

export interface CutText {
  chars_by: string;
  gaps?: Gap[] | null;
  kept?: KeptLine[] | null;
  layer?: string;
  left_out?: number;
  limit?: number;
  lines_by: string;
  lines_produced: number;
  lines_shown: number;
  max_chars: number;
  max_lines: number;
  produced: number;
  shown: number;
  text: string;
  tokens: number;
  unit?: string;
}

export interface DayStats {
  archived: number;
  calls: number;
  cut: number;
  day: string;
  failed: number;
  loaded_back: number;
  produced: number;
  saved: number;
  shown: number;
  tool: string;
}

export interface DeletedConversation {
  archive_bytes: number;
  archives: number;
  calls: number;
  id: string;
  messages: number;
}

export interface ErrorBody {
  error: Problem | null;
}

export interface Fit {
  chars: number;
  fits: number;
  uuid: string;
}

export interface Fits {
  loads: Fit[] | null;
}

export interface FoldStats {
  client: string;
  cut: number;
  folded: number;
  loads: number;
  refused: number;
  requests: number;
  saved: number;
  sent: number;
}

export interface Folded {
  mid_turn: boolean;
  results: AgentFoldedResult[] | null;
  saved_chars: number;
  uuids: string[] | null;
}

export interface Found {
  archives: number;
  hits: Hit[] | null;
  left: number;
  scanned_bytes: number;
}

export interface FoundModel {
  base_url: string;
  command: string;
  key_env?: string;
  models: string[] | null;
  preset: string;
  title: string;
}

export interface FoundModels {
  found: FoundModel[] | null;
}

export interface Gap {
  chars: number;
  first: number;
  last: number;
  lines: number;
}

export interface HandOver {
  config?: string;
  plugins?: string;
  workspace?: string;
}

export interface Health {
  status: string;
}

export interface HealthFinding {
  area: string;
  fix?: string;
  status: string;
  what: string;
}

export interface HealthReport {
  findings: HealthFinding[] | null;
  ok: boolean;
}

export interface Hit {
  conversation_id: string;
  created_at: string;
  last_line?: number;
  line: number;
  query: string;
  score?: number;
  snippet: string;
  tool: string;
  uuid: string;
}

export interface KeptLine {
  by: string;
  line: number;
  text: string;
  times: number;
}

export interface KeptResult {
  conversation_id: string;
  cut: boolean;
  gaps?: Gap[] | null;
  incomplete?: boolean;
  layer?: string;
  limit?: number;
  placeholder?: string;
  produced: number;
  shown: number;
  text: string;
  unit?: string;
  unkept?: boolean;
  uuid: string;
}

export interface LogLine {
  at: string;
  level: string;
  text: string;
}

export interface Login {
  code?: string;
  token?: string;
}

export interface LoginCode {
  code: string;
  expires_at: string;
}

export interface MCPClient {
  began_at: string;
  last_at: string;
  name: string;
  principal: string;
  transport: string;
  version: string;
}

export interface MCPClients {
  clients: MCPClient[] | null;
}

export interface MCPConfig {
  after: string;
  client: string;
  command: string;
  file: string;
  http: unknown;
  stdio: unknown;
}

export interface MCPConfigs {
  clients: MCPConfig[] | null;
  url: string;
}

export interface MadeClientToken {
  client: string;
  created_at: string;
  id: string;
  token: string;
}

export interface Missed {
  events: number;
  text: string;
}

export interface ModeSwitched {
  from: string;
  to: string;
  why: string;
}

export interface ModelAdd {
  base_url?: string;
  default?: boolean;
  dry_run?: boolean;
  model: string;
  name?: string;
  preset: string;
  window?: number;
}

export interface ModelList {
  data: ModelRow[] | null;
  object: string;
}

export interface ModelPassed {
  message: string;
  model: string;
}

export interface ModelProbing {
  model: string;
}

export interface ModelRepeated {
  code: string;
  message: string;
  wait_ms: number;
}

export interface ModelRow {
  context_length?: number;
  created: number;
  id: string;
  model: string;
  object: string;
  owned_by: string;
  profile: boolean;
  simulated: boolean;
}

export interface ModelStats {
  calls: number;
  failed: number;
  format: string;
  malformed: number;
  misused: number;
  model: string;
  outcomes: Record<string, number> | null;
}

export interface ModelStep {
  code?: string;
  elapsed_ms: number;
  first_token_ms?: number;
  hint?: string;
  message?: string;
  name: string;
  ok: boolean;
}

export interface ModelSwitched {
  code: string;
  from: string;
  limit: number;
  message: string;
  mode: string;
  simulated: boolean;
  to: string;
  why: string;
  window: number;
}

export interface ModelTested {
  model: string;
  name: string;
  native_tools: boolean | null;
  ok: boolean;
  provider: string;
  reply: string;
  scripts: boolean | null;
  steps: ModelStep[] | null;
  usage: AgentUsage;
  window: number;
}

export interface NewClientToken {
  client: string;
}

export interface OpenAIError {
  error: {
    code: string;
    hint?: string;
    message: string;
    param: string | null;
    type: string;
  };
}

export interface Plan {
  steps: string[] | null;
}

export interface PluginApproval {
  at: string;
  by: string;
  held?: boolean;
}

export interface PluginApprovedVersion {
  at: string;
  by: string;
  current?: boolean;
  digest: string;
  held?: boolean;
  kept: boolean;
  powers?: PluginAsk[] | null;
  source: string;
  version?: string;
}

export interface PluginAsk {
  granted: boolean;
  kind: string;
  reason?: string;
  what: string;
}

export interface PluginDecision {
  by: string;
  chars: number;
  layers: PluginLayerLimit[] | null;
  lines: number;
  lines_by: string;
  next: number;
  next_by: string;
  profile?: string;
}

export interface PluginDifference {
  is?: string;
  kind: string;
  lines?: string;
  more_lines?: number;
  name?: string;
  reason?: string;
  was?: string;
  wider?: boolean;
}

export interface PluginInfo {
  abi?: string;
  approved?: PluginApproval | null;
  asks?: PluginAsk[] | null;
  description?: string;
  digest?: string;
  disabled?: string[] | null;
  fix?: string;
  instructions?: string;
  kind?: string;
  loaded?: boolean;
  name: string;
  offer?: PluginPendingVersion | null;
  problems?: string[] | null;
  refused?: PluginRefusedHost[] | null;
  sha256?: string;
  source: string;
  state: string;
  tools?: string[] | null;
  trust: string;
  unpassed?: string[] | null;
  version?: string;
  why?: string;
}

export interface PluginLayerLimit {
  chars: number;
  layer: string;
  replaced?: boolean;
  why?: string;
}

export interface PluginLimitGroup {
  by: string;
  chars: number;
  next: number;
  next_by: string;
  tools: string[] | null;
}

export interface PluginList {
  plugins: PluginInfo[] | null;
}

export interface PluginLog {
  lines: LogLine[] | null;
}

export interface PluginPendingVersion {
  cause: string;
  digest?: string;
  fix?: string;
  sha256?: string;
  source: string;
  version?: string;
  why: string;
}

export interface PluginPulse {
  invalid: string[] | null;
  quarantined: string[] | null;
  waiting: string[] | null;
}

export interface PluginRefusedHost {
  count: number;
  fix: string;
  host: string;
  last: string;
  private?: boolean;
}

export interface PluginRemoval {
  link?: boolean;
  removed: string[] | null;
}

export interface PluginReview {
  changes?: PluginDifference[] | null;
  history?: PluginApprovedVersion[] | null;
  plugin: PluginInfo;
  serving?: PluginVersion | null;
  waiting?: PluginVersion | null;
}

export interface PluginToolInfo {
  cache_ttl?: number;
  chars_by: string;
  declared: ToolLimits;
  effect?: string;
  effective: ToolLimits;
  in_force?: PluginDecision | null;
  lines_by: string;
  memory_by?: string;
  operator_chars?: number;
  parallel?: number;
  parallel_by?: string;
  per_minute?: number;
  plugin: string;
  questions?: string[] | null;
  spec: ToolSpec;
  strategy_by: string;
  timeout_by: string;
  tokens?: number;
}

export interface PluginVersion {
  add?: Record<string, string[] | null> | null;
  asks?: PluginAsk[] | null;
  digest: string;
  file: string;
  manifest_sha256: string;
  missing?: string[] | null;
  settings?: PluginDifference[] | null;
  source: string;
  tools?: PluginToolInfo[] | null;
  version?: string;
  wasm_bytes: number;
  wasm_sha256: string;
}

export interface PowerGrant {
  folder?: string;
  kind?: string;
  only?: string;
  what?: string;
}

export interface Problem {
  code: string;
  hint?: string;
  key_env?: string;
  message: string;
  quota?: QuotaState | null;
}

export interface ProfileList {
  profiles: ConfiguredProfile[] | null;
}

export interface PruneBody {
  dry_run?: boolean;
}

export interface Pruned {
  bytes: number;
  count: number;
  dry_run: boolean;
  kept: number;
  kept_bytes: number;
  pruned: PrunedRow[] | null;
}

export interface PrunedRow {
  bytes: number;
  conversation_id: string;
  created_at: string;
  reason: string;
  tool: string;
  uuid: string;
}

export interface Pulse {
  answering: string[] | null;
  approvals: string[] | null;
  configuration: string;
  draining: boolean;
  plugins?: PluginPulse | null;
  tools: string;
}

export interface QuotaState {
  free_at: string | null;
  limit: number;
  name: string;
  unit?: string;
  used: number;
}

export interface Readiness {
  missing?: string[] | null;
  status: string;
  tools: number;
}

export interface Recalled {
  by: string;
  fallback: string;
  hinted: boolean;
  loaded: boolean;
  score: number;
  uuids: string[] | null;
}

export interface ReloadReport {
  change: ChangesChange;
  in_force: string[] | null;
  notes: string[] | null;
  restart: string[] | null;
}

export interface Reloaded {
  change: ChangesChange;
  plugins: PluginInfo[] | null;
}

export interface Renaming {
  title: string;
}

export interface ResultBody {
  conversation_id?: string;
  locale?: string;
  result: unknown;
  thread_id?: string;
  tool_input?: unknown;
  tool_name: string;
}

export interface Retried {
  plugin: string;
  state: string;
}

export interface ScriptAnswer {
  answers?: Record<string, string> | null;
}

export interface ScriptBody {
  allow?: boolean;
  arguments?: unknown;
  conversation_id?: string;
  locale?: string;
  source: string;
}

export interface ScriptCall {
  brief?: string;
  code?: string;
  elapsed_ms: number;
  produced: number;
  tool: string;
  uuid?: string;
}

export interface ScriptList {
  scripts: ScriptSummary[] | null;
}

export interface ScriptQuestion {
  arguments: unknown;
  key: string;
  number: number;
  plugin?: string;
  sources?: ScriptSource[] | null;
  tool: string;
  why: string;
}

export interface ScriptResult {
  approval?: ToolApproval | null;
  calls?: ScriptCall[] | null;
  card?: ScriptQuestion[] | null;
  elapsed_ms: number;
  error?: ToolError | null;
  gaps?: Gap[] | null;
  id: string;
  incomplete?: boolean;
  kept?: KeptLine[] | null;
  kept_uuid?: string;
  layer?: string;
  left_out?: number;
  limit?: number;
  line: string;
  lines_produced: number;
  lines_shown: number;
  loaded_uuid?: string;
  logged: string[] | null;
  ok: boolean;
  parts?: ToolPart[] | null;
  produced: number;
  read?: number;
  refused?: string[] | null;
  script_id: string;
  shown: number;
  state: string;
  structured?: unknown;
  summarized?: boolean;
  summary_cost?: ToolSummaryCost | null;
  text: string;
  tool: string;
  unit?: string;
  unkept?: boolean;
}

export interface ScriptRun {
  arguments?: unknown;
  calls: number;
  card: ScriptQuestion[] | null;
  conversation_id: string;
  created_at: string;
  id: string;
  line: string;
  logged: string[] | null;
  made: ScriptCall[] | null;
  result?: ToolCallResult | null;
  source: string;
  state: string;
  stored_bytes: number;
  updated_at: string;
  waiting: number;
}

export interface ScriptSource {
  argument: string;
  from: string;
  uuid?: string;
}

export interface ScriptSummary {
  calls: number;
  conversation_id: string;
  created_at: string;
  id: string;
  line: string;
  state: string;
  updated_at: string;
  waiting: number;
}

export interface SessionInfo {
  expires_at?: string | null;
  operator: boolean;
  principal: string;
}

export interface SessionStarted {
  expires_at?: string | null;
  key: string;
  operator: boolean;
  principal: string;
}

export interface SettingChange {
  key?: string[] | null;
  value?: unknown;
}

export interface SettingKey {
  default: unknown;
  key: string[] | null;
  meaning: string;
  restart: boolean;
  type: string;
  unit?: string;
  written: WrittenSetting[] | null;
}

export interface SettingsPatch {
  changes: SettingChange[] | null;
  dry_run?: boolean;
}

export interface SettingsPatched {
  change: ChangesChange;
  diff: string;
  etag: string;
  file: string;
  in_force: string[] | null;
  notes: string[] | null;
  restart: string[] | null;
  written: boolean;
}

export interface SettingsSchema {
  file: string;
  keys: SettingKey[] | null;
}

export interface ShownConversation {
  conversation: ConversationRow;
  id: string;
  messages: ShownMessage[] | null;
}

export interface ShownMessage {
  at: string;
  calls?: ToolCall[] | null;
  locale?: string;
  model?: string;
  reasoning?: string;
  remarks?: AgentRemark[] | null;
  results?: ShownResult[] | null;
  role: string;
  sources?: AgentSource[] | null;
  text?: string;
  turn: number;
  typed?: AgentSpan;
  unseen?: number;
}

export interface ShownPart {
  call_id: string;
  chars: number;
  conversation_id: string;
  gaps?: Gap[] | null;
  kept_lines?: number[] | null;
  layer?: string;
  limit?: number;
  lines: number;
  summarized?: boolean;
  turn: number;
  unit?: string;
}

export interface ShownResult {
  approval?: ToolApproval | null;
  call_id: string;
  chars: number;
  cite?: string;
  confirm?: string;
  elapsed_ms?: number;
  ephemeral?: boolean;
  err?: boolean;
  folded?: boolean;
  gaps?: Gap[] | null;
  keep_until?: number;
  kept_lines?: number[] | null;
  layer?: string;
  limit?: number;
  lines_produced?: number;
  lines_shown?: number;
  ref?: ToolRef | null;
  shown?: number;
  sources?: AgentSource[] | null;
  summarized?: boolean;
  summary_model?: string;
  text: string;
  tool: string;
  unit?: string;
}

export interface Spent {
  cost?: AgentCost | null;
  for: string;
  model: string;
  usage: AgentUsage;
}

export interface Stats {
  archives: number;
  days?: DayStats[] | null;
  file_bytes: number;
  folds?: FoldStats[] | null;
  models: ModelStats[] | null;
  pruned: number;
  stored_bytes: number;
  text_bytes: number;
  tools: ToolStats[] | null;
}

export interface TextMatch {
  from: number;
  line: number;
  text: string;
  text_from?: number;
  to: number;
}

export interface TextMatches {
  lines: number;
  matches: TextMatch[] | null;
  more?: boolean;
  next_offset?: number;
  total: number;
}

export interface TextPiece {
  text: string;
}

export interface ToolApproval {
  allowed: boolean;
  always?: boolean;
  by: string;
  some?: boolean;
  waited_ns?: number;
}

export interface ToolCall {
  args: unknown;
  id: string;
  tool: string;
  turn?: number;
}

export interface ToolCallArchived {
  chars: number;
  id: string;
  tool: string;
  uuid: string;
}

export interface ToolCallMalformed {
  format: string;
  note: string;
  reason: string;
  tool: string;
}

export interface ToolCallProgress {
  done: number;
  id: string;
  message?: string;
  tool: string;
  total?: number;
}

export interface ToolCallResult {
  approval?: ToolApproval | null;
  calls?: ScriptCall[] | null;
  elapsed_ms: number;
  error?: ToolError | null;
  gaps?: Gap[] | null;
  id: string;
  incomplete?: boolean;
  kept?: KeptLine[] | null;
  kept_uuid?: string;
  layer?: string;
  left_out?: number;
  limit?: number;
  line: string;
  lines_produced: number;
  lines_shown: number;
  loaded_uuid?: string;
  ok: boolean;
  parts?: ToolPart[] | null;
  produced: number;
  read?: number;
  refused?: string[] | null;
  shown: number;
  structured?: unknown;
  summarized?: boolean;
  summary_cost?: ToolSummaryCost | null;
  text: string;
  tool: string;
  unit?: string;
  unkept?: boolean;
}

export interface ToolCallStart {
  arguments: unknown;
  format?: string;
  id: string;
  tool: string;
}

export interface ToolCallTruncated {
  from: number;
  id: string;
  layer: string;
  percent: number;
  to: number;
  tool: string;
}

export interface ToolError {
  code: string;
  hint?: string;
  message: string;
}

export interface ToolExample {
  args: unknown;
  args_zh?: unknown;
  ask: string;
  ask_zh?: string;
}

export interface ToolHints {
  idempotent?: boolean;
  network?: boolean;
  read_only?: boolean;
}

export interface ToolLimits {
  archive?: string;
  head?: number;
  keep?: string[] | null;
  keep_context?: number;
  max_chars?: number;
  max_lines?: number;
  memory?: string;
  open_ended?: boolean;
  strategy?: string;
  tail?: number;
  timeout?: number;
}

export interface ToolList {
  found?: ToolfindFound[] | null;
  tools: PluginToolInfo[] | null;
}

export interface ToolPart {
  bytes: number;
  mime: string;
  name?: string;
}

export interface ToolRef {
  again?: boolean;
  chars: number;
  created_at: string;
  lines: number;
  parts?: ToolPart[] | null;
  query: string;
  sources?: ToolSource[] | null;
  summary: string;
  uuid: string;
}

export interface ToolRemote {
  annotations?: unknown;
  execution?: unknown;
  icons?: unknown;
  meta?: unknown;
  server: string;
  title?: string;
  trusted?: boolean;
}

export interface ToolSource {
  title?: string;
  url?: string;
}

export interface ToolSpec {
  description: string;
  description_zh?: string;
  examples?: ToolExample[] | null;
  hints: ToolHints;
  name: string;
  output: ToolLimits;
  output_schema?: unknown;
  parameters: unknown;
  parameters_zh?: unknown;
  remote?: ToolRemote | null;
}

export interface ToolStats {
  archived: number;
  calls: number;
  cut: number;
  duration_ms?: number;
  failed: number;
  loaded_back: number;
  produced: number;
  saved: number;
  shown: number;
  tool: string;
}

export interface ToolSummaryCost {
  estimated?: boolean;
  milliseconds: number;
  model: string;
  tokens_in: number;
  tokens_out: number;
}

export interface ToolfindFound {
  follows?: number;
  name: string;
  named?: boolean;
  near?: number;
  reasons?: ToolindexReason[] | null;
  score: number;
  server?: string;
  share: number;
}

export interface ToolindexReason {
  fields: string[] | null;
  matched: string;
  score: number;
  word: string;
}

export interface Trace {
  calls: number;
  client?: string;
  conversation_id: string;
  cost?: AgentCost | null;
  elapsed_ms: number;
  folded_chars?: number;
  id?: number;
  limit: number;
  limits?: PluginLimitGroup[] | null;
  mode: string;
  model: string;
  notes?: string[] | null;
  passed?: ModelPassed[] | null;
  passed_through?: boolean;
  produced_chars: number;
  profile: string;
  question: string;
  reason: string;
  requests: number;
  rounds: TraceRound[] | null;
  shown_chars: number;
  simulated?: boolean;
  started_at: string;
  suggested?: string[] | null;
  switched?: ModelSwitched[] | null;
  tools?: AgentToolCost[] | null;
  turn: number;
  usage: AgentUsage;
  why: string;
  window: number;
}

export interface TraceCall {
  arguments: unknown;
  calls?: ScriptCall[] | null;
  elapsed_ms: number;
  error?: string;
  format?: string;
  found?: string[] | null;
  found_rank?: number;
  id: string;
  kept_uuid?: string;
  layer?: string;
  limit?: number;
  line: string;
  loaded_uuid?: string;
  ok: boolean;
  produced: number;
  read?: number;
  refused?: string[] | null;
  shown: number;
  summarized?: boolean;
  tool: string;
  unit?: string;
  waited_ms?: number;
}

export interface TraceHead {
  calls: number;
  client?: string;
  conversation_id: string;
  cost?: AgentCost | null;
  elapsed_ms: number;
  id?: number;
  mode: string;
  model: string;
  passed_through?: boolean;
  produced_chars: number;
  profile: string;
  question: string;
  reason: string;
  requests: number;
  shown_chars: number;
  simulated?: boolean;
  started_at: string;
  turn: number;
  usage: AgentUsage;
}

export interface TraceList {
  traces: TraceHead[] | null;
}

export interface TraceRound {
  at_ms: number;
  calls?: TraceCall[] | null;
  elapsed_ms: number;
  error?: string;
  first_ms: number;
  folded_chars?: number;
  malformed?: ToolCallMalformed[] | null;
  model?: string;
  round: number;
  sent: AgentParts;
  usage: AgentUsage;
}

export interface Usage {
  days: UsedDay[] | null;
  quotas: QuotaState[] | null;
  running: number;
  user: string;
}

export interface UsedDay {
  completion_tokens: number;
  cost?: Cost[] | null;
  day: string;
  prompt_tokens: number;
  refused: number;
  requests: number;
}

export interface UserData {
  archive_bytes: number;
  archives: number;
  calls: number;
  conversations: number;
  days: number;
  messages: number;
  user: string;
}

export interface UserList {
  users: UserRow[] | null;
}

export interface UserRow {
  deny_tools: string[] | null;
  locale?: string;
  models: string[] | null;
  name: string;
  profiles: string[] | null;
  token: boolean;
  tools: string[] | null;
  usage: Usage;
}

export interface Verdict {
  by?: string;
  digest?: string;
  grants?: PowerGrant[] | null;
  stop?: boolean;
}

export interface WrittenSetting {
  key: string[] | null;
  line: number;
  value: unknown;
  variable?: string;
}

// Events are the events of an answer's stream, by name.
export interface Events {
  "approval.answered": ApprovalAnswered;
  "approval.asked": Approval;
  "approval.waiting": ApprovalWaiting;
  "budget": Budget;
  "chat.end": ChatEnd;
  "chat.missed": Missed;
  "chat.start": ChatStart;
  "context.folded": Folded;
  "context.recalled": Recalled;
  "error": Problem;
  "message.delta": TextPiece;
  "mode.switched": ModeSwitched;
  "model.passed": ModelPassed;
  "model.probing": ModelProbing;
  "model.repeated": ModelRepeated;
  "model.step": ModelStep;
  "model.switched": ModelSwitched;
  "model.tested": ModelTested;
  "plan": Plan;
  "pulse": Pulse;
  "reasoning.delta": TextPiece;
  "tool_call.archived": ToolCallArchived;
  "tool_call.malformed": ToolCallMalformed;
  "tool_call.progress": ToolCallProgress;
  "tool_call.result": ToolCallResult;
  "tool_call.start": ToolCallStart;
  "tool_call.truncated": ToolCallTruncated;
}
