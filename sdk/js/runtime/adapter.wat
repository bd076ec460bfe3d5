;; The adapter between QuickJS and weir's ABI (docs/abi.md): it makes of the npm package
;; quickjs-wasi a tool that runs the JavaScript laid into its last data segment. build.sh
;; merges the two. A handle is QuickJS's pointer to a value.
(module
  (import "qjs" "memory" (memory 18))
  (import "qjs" "_initialize" (func $qjs_initialize))
  (import "qjs" "wasm_malloc" (func $malloc (param i32) (result i32)))
  (import "qjs" "qjs_init" (func $qjs_init (result i32)))
  (import "qjs" "qjs_eval" (func $qjs_eval (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_call" (func $qjs_call (param i32 i32 i32 i32) (result i32)))
  (import "qjs" "qjs_new_host_function" (func $qjs_function (param i32 i32 i32) (result i32)))
  (import "qjs" "qjs_new_string" (func $qjs_string (param i32 i32) (result i32)))
  (import "qjs" "qjs_new_number" (func $qjs_number (param f64) (result i32)))
  (import "qjs" "qjs_get_undefined" (func $qjs_undefined (result i32)))
  (import "qjs" "qjs_get_string_len" (func $qjs_text (param i32 i32) (result i32)))
  (import "qjs" "qjs_is_exception" (func $qjs_is_exception (param i32) (result i32)))
  (import "qjs" "qjs_get_exception" (func $qjs_exception (result i32)))
  (import "qjs" "qjs_is_job_pending" (func $qjs_pending (result i32)))
  (import "qjs" "qjs_execute_pending_job" (func $qjs_job (result i32)))

  (import "extism:host/env" "input_length" (func $input_length (result i64)))
  (import "extism:host/env" "input_load_u8" (func $input_load_u8 (param i64) (result i32)))
  (import "extism:host/env" "input_load_u64" (func $input_load_u64 (param i64) (result i64)))
  (import "extism:host/env" "alloc" (func $alloc (param i64) (result i64)))
  (import "extism:host/env" "free" (func $free (param i64)))
  (import "extism:host/env" "length" (func $length (param i64) (result i64)))
  (import "extism:host/env" "load_u8" (func $load_u8 (param i64) (result i32)))
  (import "extism:host/env" "load_u64" (func $load_u64 (param i64) (result i64)))
  (import "extism:host/env" "store_u8" (func $store_u8 (param i64 i32)))
  (import "extism:host/env" "store_u64" (func $store_u64 (param i64 i64)))
  (import "extism:host/env" "output_set" (func $output_set (param i64 i64)))
  (import "extism:host/env" "error_set" (func $error_set (param i64)))
  (import "extism:host/env" "config_get" (func $config_get (param i64) (result i64)))
  (import "extism:host/user" "weir_http" (func $weir_http (param i64) (result i64)))
  (import "extism:host/user" "weir_progress" (func $weir_progress (param i64)))
  (import "extism:host/user" "weir_log" (func $weir_log (param i32 i64)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))

  ;; The names of the functions that JavaScript is given, one letter each; the file names
  ;; in its stack traces; the lengths in bytes of the two texts below.
  (data $names "chplxr\00prelude.js\00tool.js\00")
  (data $sizes "[sizes]!")
  (data $prelude "[prelude]")
  (data $script "[script]")

  (global $box (mut i32) (i32.const 0))      ;; the mailbox, 48 bytes
  (global $room (mut i32) (i32.const 0))     ;; its room at first, 4,096 bytes
  (global $names_at (mut i32) (i32.const 0))
  (global $scratch (mut i32) (i32.const 0))  ;; 16 bytes for what takes a pointer
  (global $dispatch (mut i32) (i32.const 0)) ;; the prelude's function, a handle

  (func $need (param $bytes i32) (result i32)
    (local $p i32)
    (local.set $p (call $malloc (local.get $bytes)))
    (if (i32.eqz (local.get $p)) (then (unreachable)))
    (local.get $p))

  ;; ---- bytes ----

  ;; A copy in the host's memory; 0: it has none left.
  (func $store (param $p i32) (param $n i32) (result i64)
    (local $at i64) (local $i i32)
    (local.set $at (call $alloc (i64.extend_i32_u (local.get $n))))
    (if (i64.eqz (local.get $at)) (then (return (i64.const 0))))
    (block $words_done
      (loop $words
        (br_if $words_done (i32.lt_u (i32.sub (local.get $n) (local.get $i)) (i32.const 8)))
        (call $store_u64 (i64.add (local.get $at) (i64.extend_i32_u (local.get $i))) (i64.load align=1 (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $words)))
    (block $bytes_done
      (loop $bytes
        (br_if $bytes_done (i32.ge_u (local.get $i) (local.get $n)))
        (call $store_u8 (i64.add (local.get $at) (i64.extend_i32_u (local.get $i))) (i32.load8_u (i32.add (local.get $p) (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $bytes)))
    (local.get $at))

  ;; A value with the text of the host's memory, which is given back.
  (func $taken (param $at i64) (result i32)
    (local $p i32) (local $n i32) (local $i i32)
    (local.set $n (i32.wrap_i64 (call $length (local.get $at))))
    (local.set $p (call $need (i32.add (local.get $n) (i32.const 1))))
    (block $words_done
      (loop $words
        (br_if $words_done (i32.lt_u (i32.sub (local.get $n) (local.get $i)) (i32.const 8)))
        (i64.store align=1 (i32.add (local.get $p) (local.get $i)) (call $load_u64 (i64.add (local.get $at) (i64.extend_i32_u (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $words)))
    (block $bytes_done
      (loop $bytes
        (br_if $bytes_done (i32.ge_u (local.get $i) (local.get $n)))
        (i32.store8 (i32.add (local.get $p) (local.get $i)) (call $load_u8 (i64.add (local.get $at) (i64.extend_i32_u (local.get $i)))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $bytes)))
    (call $free (local.get $at))
    (call $qjs_string (local.get $p) (local.get $n)))

  ;; A value with the text of the input that Extism's functions give.
  (func $input (result i32)
    (local $p i32) (local $n i32) (local $i i32)
    (local.set $n (i32.wrap_i64 (call $input_length)))
    (local.set $p (call $need (i32.add (local.get $n) (i32.const 1))))
    (block $words_done
      (loop $words
        (br_if $words_done (i32.lt_u (i32.sub (local.get $n) (local.get $i)) (i32.const 8)))
        (i64.store align=1 (i32.add (local.get $p) (local.get $i)) (call $input_load_u64 (i64.extend_i32_u (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 8)))
        (br $words)))
    (block $bytes_done
      (loop $bytes
        (br_if $bytes_done (i32.ge_u (local.get $i) (local.get $n)))
        (i32.store8 (i32.add (local.get $p) (local.get $i)) (call $input_load_u8 (i64.extend_i32_u (local.get $i))))
        (local.set $i (i32.add (local.get $i) (i32.const 1)))
        (br $bytes)))
    (call $qjs_string (local.get $p) (local.get $n)))

  ;; The text of a value; its length goes to $scratch.
  (func $text (param $value i32) (result i32)
    (call $qjs_text (local.get $value) (global.get $scratch)))

  (func $stored (param $value i32) (result i64)
    (call $store (call $text (local.get $value)) (i32.load (global.get $scratch))))

  ;; ---- what JavaScript calls ----

  ;; c(key) a setting · h(request) a response · p(report) · l(level, text) · x(reason)
  ;; ends the call · r() a random number of 32 bits. Texts all, but for the number.
  (func $host_call (export "host_call") (param $name i32) (param $length i32) (param $this i32) (param $argc i32) (param $argv i32) (result i32)
    (local $kind i32) (local $at i64) (local $back i64)
    (local.set $kind (i32.load8_u (local.get $name)))
    (if (i32.eq (local.get $kind) (i32.const 114)) ;; r
      (then
        (drop (call $random_get (global.get $scratch) (i32.const 4)))
        (return (call $qjs_number (f64.convert_i32_u (i32.load (global.get $scratch)))))))
    (if (i32.eq (local.get $kind) (i32.const 120)) ;; x
      (then (call $crash (i32.load (local.get $argv)))))
    (if (i32.eq (local.get $kind) (i32.const 108)) ;; l
      (then
        (local.set $at (call $stored (i32.load offset=4 (local.get $argv))))
        (if (i64.ne (local.get $at) (i64.const 0))
          (then (call $weir_log (call $digit (i32.load (local.get $argv))) (local.get $at)))) ;; the host frees it
        (return (call $qjs_undefined))))
    (local.set $at (call $stored (i32.load (local.get $argv))))
    (if (i64.eqz (local.get $at)) (then (return (call $qjs_undefined))))
    (if (i32.eq (local.get $kind) (i32.const 112)) ;; p
      (then
        (call $weir_progress (local.get $at)) ;; the host frees it
        (return (call $qjs_undefined))))
    (if (i32.eq (local.get $kind) (i32.const 99)) ;; c
      (then (local.set $back (call $config_get (local.get $at))))
      (else (local.set $back (call $weir_http (local.get $at)))))
    (call $free (local.get $at))
    (if (i64.eqz (local.get $back)) (then (return (call $qjs_undefined))))
    (call $taken (local.get $back)))

  ;; The number of a text of one digit.
  (func $digit (param $value i32) (result i32)
    (i32.sub (i32.load8_u (call $text (local.get $value))) (i32.const 48)))

  ;; Ends the guest, with the value's text on standard error, where the host finds it.
  (func $crash (param $value i32)
    (i32.store offset=4 (global.get $scratch) (call $text (local.get $value)))
    (i32.store offset=8 (global.get $scratch) (i32.load (global.get $scratch)))
    (drop (call $fd_write (i32.const 2) (i32.add (global.get $scratch) (i32.const 4)) (i32.const 1) (global.get $scratch)))
    (unreachable))

  ;; What QuickJS asks of a host beside: UTC, no interruption, no modules.
  (func (export "host_get_timezone_offset") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_interrupt") (result i32) (i32.const 0))
  (func (export "host_promise_rejection") (param i32 i32 i32))
  (func (export "host_module_normalize") (param i32 i32) (result i32) (i32.const 0))
  (func (export "host_module_load") (param i32 i32) (result i32) (i32.const 0))

  ;; ---- the beginning ----

  (func $checked (param $value i32) (result i32)
    (if (call $qjs_is_exception (local.get $value)) (then (call $crash (call $qjs_exception))))
    (local.get $value))

  (func $jobs
    (block $done
      (loop $next
        (br_if $done (i32.eqz (call $qjs_pending)))
        (br_if $next (i32.ge_s (call $qjs_job) (i32.const 0)))
        (call $crash (call $qjs_exception)))))

  (func $run_prelude (param $size i32)
    (local $p i32) (local $argv i32) (local $i i32)
    (local.set $p (call $need (i32.add (local.get $size) (i32.const 1))))
    (memory.init $prelude (local.get $p) (i32.const 0) (local.get $size))
    (i32.store8 (i32.add (local.get $p) (local.get $size)) (i32.const 0))
    (local.set $argv (call $need (i32.const 24)))
    (loop $functions
      (i32.store (i32.add (local.get $argv) (i32.shl (local.get $i) (i32.const 2)))
        (call $qjs_function (i32.add (global.get $names_at) (local.get $i)) (i32.const 1) (i32.const 0)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $functions (i32.lt_u (local.get $i) (i32.const 6))))
    (global.set $dispatch (call $checked (call $qjs_call
      (call $checked (call $qjs_eval (local.get $p) (local.get $size) (i32.add (global.get $names_at) (i32.const 7)) (i32.const 0)))
      (call $qjs_undefined) (i32.const 6) (local.get $argv)))))

  ;; The script is a module; the prelude is given the promise of what it exports, or the
  ;; error in its text. What is wrong with it is told by its calls.
  (func $run_script (param $size i32)
    (local $p i32) (local $argv i32) (local $value i32)
    (local.set $p (call $need (i32.add (local.get $size) (i32.const 1))))
    (memory.init $script (local.get $p) (i32.const 0) (local.get $size))
    (i32.store8 (i32.add (local.get $p) (local.get $size)) (i32.const 0))
    (local.set $argv (call $need (i32.const 8)))
    (local.set $value (call $qjs_eval (local.get $p) (local.get $size) (i32.add (global.get $names_at) (i32.const 18)) (i32.const 1)))
    (if (call $qjs_is_exception (local.get $value)) (then (local.set $value (call $qjs_exception))))
    (i32.store (local.get $argv) (local.get $value))
    (drop (call $checked (call $qjs_call (global.get $dispatch) (call $qjs_undefined) (i32.const 1) (local.get $argv))))
    (call $jobs))

  (func (export "_initialize")
    (call $qjs_initialize)
    (if (call $qjs_init) (then (unreachable)))
    (global.set $box (call $need (i32.const 48)))
    (memory.fill (global.get $box) (i32.const 0) (i32.const 48))
    (i32.store (global.get $box) (i32.const 0x72696577))
    (i32.store offset=4 (global.get $box) (i32.const 1))
    (global.set $room (call $need (i32.const 4096)))
    (global.set $scratch (call $need (i32.const 16)))
    (global.set $names_at (call $need (i32.const 26)))
    (memory.init $names (global.get $names_at) (i32.const 0) (i32.const 26))
    (memory.init $sizes (global.get $scratch) (i32.const 0) (i32.const 8))
    (call $begin (i32.load (global.get $scratch)) (i32.load offset=4 (global.get $scratch))))

  (func $begin (param $prelude i32) (param $script i32)
    (call $run_prelude (local.get $prelude))
    (call $run_script (local.get $script)))

  ;; ---- a call ----

  (func (export "weir_mailbox") (result i32)
    (i32.store offset=12 (global.get $box) (global.get $room))
    (i32.store offset=16 (global.get $box) (i32.const 4096))
    (global.get $box))

  (func (export "weir_reserve") (param $bytes i32) (result i32)
    (local $p i32)
    (local.set $p (call $malloc (i32.add (local.get $bytes) (i32.const 1))))
    (if (i32.eqz (local.get $p)) (then (return (i32.const 0))))
    (i32.store offset=12 (global.get $box) (local.get $p))
    (i32.store offset=16 (global.get $box) (local.get $bytes))
    (i32.const 1))

  ;; Calls the tool whose name the text is. Exports of tools are added to this module, each
  ;; with its name in the same data segment as the script: offset and length, in bytes.
  (func (export "weir_call") (param $offset i32) (param $length i32) (result i32)
    (local $argv i32) (local $name i32) (local $out i32) (local $n i32) (local $at i64) (local $posted i32)
    (local.set $posted (i32.eq (i32.load offset=8 (global.get $box)) (i32.const 1)))
    (local.set $name (call $need (i32.add (local.get $length) (i32.const 1))))
    (memory.init $script (local.get $name) (local.get $offset) (local.get $length))
    (local.set $argv (call $need (i32.const 8)))
    (i32.store (local.get $argv) (call $qjs_string (local.get $name) (local.get $length)))
    (i32.store offset=4 (local.get $argv)
      (if (result i32) (local.get $posted)
        (then (call $qjs_string (i32.load offset=12 (global.get $box)) (i32.load offset=20 (global.get $box))))
        (else (call $input))))
    (drop (call $checked (call $qjs_call (global.get $dispatch) (call $qjs_undefined) (i32.const 2) (local.get $argv))))
    (call $jobs)
    (local.set $out (call $text (call $checked (call $qjs_call (global.get $dispatch) (call $qjs_undefined) (i32.const 0) (i32.const 0)))))
    (local.set $n (i32.load (global.get $scratch)))
    (if (local.get $posted)
      (then
        (i32.store offset=24 (global.get $box) (local.get $out))
        (i32.store offset=28 (global.get $box) (local.get $n))
        (i32.store offset=8 (global.get $box) (i32.const 2))
        (return (i32.const 0))))
    (local.set $at (call $store (local.get $out) (local.get $n)))
    (if (i64.eqz (local.get $at)) (then (return (i32.const 1))))
    (call $output_set (local.get $at) (i64.extend_i32_u (local.get $n)))
    (i32.const 0)))
