package kinds

// table lists the kinds of text and what a person looks for in each. To add a
// pattern, add a row: its name, how much it says, its expression, which must hold a
// literal of five bytes or more, or one at the beginning, in every alternative. Of
// ^(?:a|b) package regexp looks at the beginning of a line only, of ^a|^b everywhere.
//
// A kind with signs applies if one of them begins a line of the text, after blanks,
// digits and rules. A kind without signs applies to every text that is not prose,
// code or a table.
var table = []kind{
	{"pytest", []string{"short test summary info", "FAILURES =", "ERRORS =", "test session starts =", "warnings summary ="}, []row{
		{"assertion", Fault, `^E   `},
		{"result", Detail, `^(?:FAILED|ERROR) \S`},
		{"summary", Detail, `^=+ .*\b(?:failed|passed|error|errors)\b.* in \d[\d.]*s`},
		{"place", Detail, `^\S+\.py:\d+: \w*(?:Error|Exception|SystemExit|Failed|Interrupt|Warning)\b`},
		{"heading", Detail, `^_____* .* _+$`},
		{"progress", Detail, `^\S+::\S+.* (?:FAILED|ERROR)\b`},
	}},
	{"unittest", []string{"FAILED (failures=", "FAILED (errors=", "======================================================================"}, []row{
		{"heading", Detail, `^(?:FAIL: |ERROR: )\w+ \(`},
		{"error", Fault, `^(?:[a-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)\b`},
		{"summary", Detail, `^FAILED \(|^Ran \d+ tests? in `},
	}},
	{"go test", []string{"--- FAIL: ", "--- PASS: ", "=== RUN ", "FAIL\t", "ok  \t"}, []row{
		{"failed", Fault, `^\s*--- FAIL: `},
		{"message", Fault, `^\s+\w+_test\.go:\d+: `},
		{"testify", Fault, `^\s+(?:Error Trace:|Error:      |expected: |actual  : |Messages:)`},
		{"package", Detail, `^FAIL\t`},
		{"panic", Fault, `^\s*panic: |^fatal error: `},
		{"race", Fault, `^WARNING: DATA RACE`},
	}},
	{"cargo", []string{"test result: ", "running 1 test", "error: test failed", "error: could not compile"}, []row{
		{"panic", Fault, `panicked at\b`},
		{"assertion", Fault, `^assertion .*\bfailed|^\s+(?:left: |right: )`},
		{"failed", Detail, `^test .* \.\.\. FAILED`},
		{"summary", Detail, `^test result: `},
	}},
	{"jest", []string{"Test Suites: ", "✕ ", "vitest", "RUN  v", "⎯⎯⎯⎯"}, []row{
		{"failed", Fault, `^\s*● |^\s*✕ |^ * × .*ms$`},
		{"difference", Fault, `^\s*(?:Expected|Received)\b.*:`},
		{"error", Fault, `^\s*(?:\w+\.)*\w*Error: `},
		{"suite", Detail, `^\s*FAIL  ?\S+\.[cm]?[jt]sx?\b`},
		{"summary", Detail, `^\s*(?:Tests|Test Suites|Test Files):?  ?.*\bfailed\b`},
	}},
	{"mocha", []string{"passing (", "failing"}, []row{
		{"summary", Detail, `^\s+\d+ (?:passing|failing)\b`},
		{"failed", Fault, `^\s+(?:\w+\.)*\w*(?:Error|Exception)\b.*: `},
		{"difference", Detail, `^\s+[+-](?:expected|actual)`},
	}},
	{"node test", []string{"# tests ", "ℹ tests ", "✖ "}, []row{
		{"failed", Fault, `^\s*✖ `},
		{"error", Fault, `^\s*(?:error: |expected: |actual: )`},
		{"summary", Detail, `^(?:# fail|ℹ fail) `},
	}},
	{"TAP", []string{"TAP version ", "not ok "}, []row{
		{"failed", Fault, `^\s*not ok `},
		{"detail", Detail, `^#? +(?:Failed test|got: |expected: )`},
	}},
	{"JUnit", []string{"Tests run: ", "[INFO] ", "[ERROR] ", "> Task :", "BUILD FAILURE", "BUILD FAILED"}, []row{
		{"error", Fault, `^\[ERROR\] `},
		{"failed", Fault, `^\S.* > \S.* FAILED$|^> .*\bfailed\b`},
		{"summary", Detail, `\bTests run: .*(?:Failures: [1-9]|Errors: [1-9])`},
		{"assertion", Fault, `^\s*(?:\w+\.)+\w*(?:Error|Exception|Failure|Failed)\b`},
		{"build", Detail, `BUILD FAIL(?:ED|URE)`},
		{"warning", Warning, `^\[WARNING\] .`},
	}},
	{"ctest", []string{"Test project ", "% tests passed", "tests failed out of"}, []row{
		{"failed", Fault, `\*\*\*(?:Failed|Exception|Timeout|Not Run)`},
		{"summary", Detail, `% tests passed, `},
		{"list", Detail, `^\s+\d+ - .*\((?:Failed|SEGFAULT|Timeout|Not Run|ILLEGAL|Subprocess aborted)`},
	}},
	{"GoogleTest", []string{"[==========]", "[  FAILED  ]", "[ RUN      ]"}, []row{
		{"failed", Detail, `^\[  FAILED  \]`},
		{"place", Fault, `: Failure$`},
		{"difference", Fault, `^\s*(?:Expected|Actual|Which is|Value of|To be equal)\b.*: `},
	}},
	{"RSpec", []string{"Failures:", "Failure/Error:", "examples, "}, []row{
		{"failed", Fault, `^\s+Failure/Error:`},
		{"difference", Fault, `^\s+(?:expected: |expected |got: |Expected )`},
		{"list", Detail, `^rspec \./`},
		{"summary", Detail, `^\d+ examples?, `},
	}},
	{"PHPUnit", []string{"PHPUnit "}, []row{
		{"failed", Fault, `^Failed asserting|^\S*(?:Exception|Error): `},
		{"summary", Detail, `^(?:FAILURES!|ERRORS!|Tests: )`},
	}},
	{".NET test", []string{"Test Run Failed", "Failed!  - Failed:", "Starting test execution"}, []row{
		{"failed", Detail, `^\s*Failed \S|^Failed!  - `},
		{"assertion", Fault, `^\s*(?:Assert\.|Expected|Actual: |Xunit)`},
	}},
	{"compiler", nil, []row{
		{"error", Fault, `^\S[^"']*?:\d+(?::\d+)?: (?:fatal |internal compiler )?error: `},
		{"error in columns", Fault, `^\S+\(\d+(?:,\d+)?\)\s?: (?:fatal )?error [A-Z]{1,4}\d+:|^\S+:\d+:\d+ - error TS`},
		{"go", Fault, `^\S+\.go:[1-9]\d*:\d+: .`},
		{"rust", Fault, `^error(?:\[E\d{4}\])?: `},
		{"rust place", Detail, `^ +--> \S+:\d+:\d+$`},
		{"lint", Fault, `^\s+\d+:\d+\s+error  `},
		{"without place", Fault, `^(?:cc1\w*|gcc|g\+\+|clang|ld|rustc|javac|collect2|\S+/ld|lld)(?:\.exe)?: (?:fatal )?error: `},
		{"linker", Fault, `undefined reference to|undefined symbols? for|cannot find -l|ld returned \d|multiple definition of`},
		{"make", Fault, `^\S*make(?:\[\d+\])?: \*\*\* |^ninja: build stopped|^FAILED: \S`},
		{"cmake", Fault, `^CMake Error`},
		{"package manager", Fault, `^npm (?:ERR!|error) .|^error Command failed|^E: Unable to|^ERROR: (?:Could not|No matching|Failed|Cannot|Exception|pip)`},
		{"container", Fault, `^ERROR: failed to|^ > \[.*\]:$`},
		{"warning", Warning, `^\S[^"']*?:\d+(?::\d+)?: warning: |^warning(?:\[\w+\])?: |^CMake Warning|^npm warn `},
	}},
	{"stack trace", nil, []row{
		{"python", Detail, `^\s*Traceback \(most recent call last\)`},
		{"python error", Fault, `^\s*(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Iteration)(?:: .*)?$`},
		{"java", Fault, `^(?:Exception in thread |\s*Caused by: |(?:\w+\.){2,}\w+(?:Exception|Error)\b)`},
		{"javascript", Fault, `^(?:(?:Uncaught |Unhandled)?\w*Error: |(?:Uncaught |Unhandled)?\w*Error \[\w+\]: |\s*\[cause\]: |.*UnhandledPromiseRejection)`},
		{"go", Fault, `^panic: |^fatal error: |^goroutine \d+ \[running`},
		{"dotnet", Fault, `^Unhandled exception`},
		{"signal", Fault, `Segmentation fault|core dumped|Bus error|Illegal instruction|^Aborted|terminate called after`},
		{"rust", Fault, `^thread '.*panicked at\b`},
		{"sanitizer", Fault, `ERROR: \w+Sanitizer|runtime error: `},
		{"valgrind", Fault, `^==\d+==.*(?:Invalid|uninitialised|definitely lost)`},
	}},
	{"shell", nil, []row{
		{"not found", Fault, `^[^"]*: (?:command not found|No such file or directory|not found|Permission denied|cannot execute\b.*)$`},
		{"exit", Fault, `\b[Ee]xit(?:ed with)? (?:code|status)[ :=]+[1-9]|exited with (?:code |status )?[1-9]|returned non-zero|^Command failed`},
		{"killed", Fault, `^(?:\S+: )?(?:Killed|Terminated)(?: +.*)?$|Out of memory|oom-kill`},
		{"git", Fault, `^fatal: |^CONFLICT \(|^error: (?:failed|pathspec|Your local)`},
	}},
	{"HTTP", nil, []row{
		{"status", Fault, `^(?:< )?HTTP/\d(?:\.\d)? [45]\d\d`},
		{"access log", Fault, `" 50[0-4] \d`},
		{"curl", Fault, `^curl: \(\d+\) `},
	}},
	{"log", nil, []row{
		{"error", Fault, `(?:^|[\]\s:|])(?:\[ *)?(?:ERROR|FATAL|CRITICAL|SEVERE|PANIC)\b(?: *\])?[\s:\]-]`},
		{"level", Fault, `\blevel="?(?:error|Error|ERROR|fatal|FATAL|panic|PANIC|critical|emerg|alert)\b`},
		{"lvl", Fault, `\blvl="?(?:error|Error|ERROR|fatal|FATAL|panic|PANIC|critical|emerg|alert)\b`},
		{"severity", Fault, `\bseverity="?(?:error|Error|ERROR|fatal|FATAL|panic|PANIC|critical|emerg|alert)\b`},
		{"json level", Fault, `"(?:level|severity|lvl|levelname)"\s*:\s*"(?:error|Error|ERROR|fatal|Fatal|FATAL|panic|PANIC|critical|CRITICAL)"`},
		{"word", Fault, `^\s*(?:error|Error|ERROR|fatal|Fatal|FATAL|fatal error|Fatal error|panic|failure|Failure|critical|Critical|exception|Exception)\s?: \S|^\s*\[(?:error\]|Error\]|fatal\]|critical\]|fail\]|FAIL\]|failed\]|FAILED\])`},
		{"chinese", Fault, `^[^，。“"'|]{0,40}(?:错误|异常|致命|严重|失败|崩溃)\]?\s*[:：】]|^\s*\[(?:错误|异常|致命|失败)\]|级别=(?:错误|严重|致命)`},
		{"warning", Warning, `(?:^|[\]\s:|])(?:\[ *)?(?:WARNING|WARN[\] :])`},
		{"warning level", Warning, `\b(?:level|lvl)=["']?(?:warn|WARN)`},
		{"warning word", Warning, `^\s*(?:warning|Warning|WARNING|\[warn\]|\[warning\])\s?:? \S`},
		{"chinese warning", Warning, `^[^，。“"'|]{0,40}(?:警告|告警)\]?\s*[:：】]|^\s*\[(?:警告|告警)\]`},
	}},
	{"diff", []string{"diff --git ", "Index: "}, []row{
		{"file", Fact, `^diff --git |^Index: \S`},
	}},
}
