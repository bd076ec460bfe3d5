//! weir.rs: write a tool for weir in Rust. This one file is the whole SDK; copy it beside the
//! tool's lib.rs and say `mod weir;` there. It needs no crate, and of Rust's own only `core` and
//! `alloc`, so it works with and without `std` (see [`without_std!`]).
//!
//! ```ignore
//! mod weir;
//! use weir::{Answer, Call, Error};
//!
//! weir::tool!(greet);
//!
//! fn greet(c: &Call) -> weir::Result {
//!     let name = c.arg_str("name", "")?;
//!     if name.is_empty() {
//!         return Err(Error::new("bad_args", "Give a name.", "Argument \"name\" is empty."));
//!     }
//!     Ok(Answer::text("Hello, ".to_string() + name))
//! }
//! ```
//!
//! Its plugin.toml says `format = "mcp"` for the tool. Return all that you computed: the host keeps
//! the whole and cuts what is shown. Every call starts with fresh memory and fresh statics.
#![allow(dead_code)]

extern crate alloc;

use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;

/// What a tool comes to: an answer, or a failure the model can act on.
pub type Result = core::result::Result<Answer, Error>;

/// The bytes of text that can be returned.
const MAX_WHOLE: usize = 8 << 20;

/// Makes a function `fn(&Call) -> Result` a tool, exported under its name.
macro_rules! tool {
    ($name:ident) => {
        const _: () = {
            #[export_name = stringify!($name)]
            extern "C" fn export() -> i32 {
                $crate::weir::run($name)
            }
        };
    };
}
pub(crate) use tool;

/// For a crate that says `#![no_std]`: an allocator that never gives back, since memory is fresh in
/// every call, and a panic that ends the call.
#[allow(unused_macros)]
macro_rules! without_std {
    () => {
        #[global_allocator]
        static ALLOCATOR: $crate::weir::Bump = $crate::weir::Bump;

        #[panic_handler]
        fn panic(_: &core::panic::PanicInfo) -> ! {
            core::arch::wasm32::unreachable()
        }
    };
}
#[allow(unused_imports)]
pub(crate) use without_std;

/// One running call: its arguments, and the way to the host.
pub struct Call {
    args: Value,
    posted: bool, // it came by the mailbox
}

/// What a tool answers: the whole text, of which the host keeps the first 8 MiB, and what belongs to it.
#[derive(Default)]
pub struct Answer {
    pub text: String,
    /// The pages or files that the text comes from.
    pub sources: Vec<Source>,
    /// There is more that the tool did not compute; `None`: there is not.
    pub more: Option<More>,
    /// Where the entries of the text begin, as `entry` notes it.
    pub entries: Entries,
    /// Pictures and other bytes; the model reads one line about each.
    pub parts: Vec<Part>,
}

/// Where the entries of a text begin: hits, rows, matches. The host cuts between two of them and says
/// how many there are.
#[derive(Default)]
pub struct Entries {
    /// How many of them a model reads, from the first, where no agent's limit says otherwise; 0: as
    /// many as fit.
    pub show: i64,
    lines: Vec<i64>,
    counted: usize, // bytes of the text whose newlines are counted
    newlines: i64,
}

pub struct Source {
    pub title: String, // may be empty
    pub url: String,   // or a file path
}

/// The claim that there is more where the text came from.
pub struct More {
    pub shown: i64,   // items in the text
    pub total: i64,   // items there are; 0: unknown
    pub args: String, // the arguments to change in the call that goes on, a JSON object; empty: none
}

pub struct Part {
    pub mime: String,
    pub name: String,
    pub data: Vec<u8>,
}

/// A failure: `code` is one of failed bad_args denied timed_out rate_limited too_large, `hint` says
/// what to do next (it may be empty), `message` is one sentence.
#[derive(Debug)]
pub struct Error {
    pub code: String,
    pub hint: String,
    pub message: String,
}

/// How serious a log line is.
#[derive(Clone, Copy)]
pub enum Level {
    Trace,
    Debug,
    Info,
    Warn,
    Error,
}

/// A request, sent by the host if the operator granted the address; the host adds the secrets.
#[derive(Default)]
pub struct Request {
    pub method: String, // empty: GET
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// What came back, whatever its status.
pub struct Response {
    pub status: i64,
    pub url: String, // after redirects
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A JSON value. Numbers stay as they were written.
pub enum Value {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Answer {
    pub fn text(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), ..Answer::default() }
    }

    /// Begins an entry, on a line of its own: what is added to the text next is its beginning.
    pub fn entry(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        let e = &mut self.entries;
        e.newlines += self.text.as_bytes()[e.counted..].iter().filter(|&&b| b == b'\n').count() as i64;
        e.counted = self.text.len();
        if e.lines.last() != Some(&(e.newlines + 1)) {
            e.lines.push(e.newlines + 1);
        }
    }
}

impl Error {
    pub fn new(code: &str, hint: &str, message: &str) -> Error {
        Error { code: code.to_owned(), hint: hint.to_owned(), message: message.to_owned() }
    }
}

impl Response {
    /// A header's value, its name in any case; empty: it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(n, _)| n.eq_ignore_ascii_case(name)).map_or("", |(_, v)| v)
    }
}

impl Call {
    /// An argument by its name; `None`: it is missing or null.
    pub fn arg(&self, name: &str) -> Option<&Value> {
        self.args.get(name).filter(|v| !matches!(v, Value::Null))
    }

    /// A text. Like its sisters it gives `fallback` for a missing argument, and `bad_args` with the
    /// argument's name for one of another type.
    pub fn arg_str<'a>(&'a self, name: &str, fallback: &'a str) -> core::result::Result<&'a str, Error> {
        self.arg(name).map_or(Ok(fallback), |v| v.as_str().ok_or_else(|| wrong(name, "a string")))
    }

    /// A whole number, written 5 or 5.0.
    pub fn arg_int(&self, name: &str, fallback: i64) -> core::result::Result<i64, Error> {
        self.arg(name).map_or(Ok(fallback), |v| v.as_int().ok_or_else(|| wrong(name, "an integer")))
    }

    pub fn arg_num(&self, name: &str, fallback: f64) -> core::result::Result<f64, Error> {
        self.arg(name).map_or(Ok(fallback), |v| v.as_num().ok_or_else(|| wrong(name, "a number")))
    }

    pub fn arg_bool(&self, name: &str, fallback: bool) -> core::result::Result<bool, Error> {
        self.arg(name).map_or(Ok(fallback), |v| v.as_bool().ok_or_else(|| wrong(name, "true or false")))
    }

    /// The characters of the answer that will be shown: for putting first what matters
    /// most; cutting is the host's work. Without a word of the host: 8,000.
    pub fn max_chars(&self) -> i64 {
        self.limit(MAX_CHARS, "weir.max_chars", 8000)
    }

    /// The lines of the answer that will be shown. Without a word of the host: 500.
    pub fn max_lines(&self) -> i64 {
        self.limit(MAX_LINES, "weir.max_lines", 500)
    }

    fn limit(&self, field: usize, key: &str, fallback: i64) -> i64 {
        let told = if self.posted { Some(mailbox(field) as i64) } else { self.config(key).and_then(|s| s.parse().ok()) };
        told.filter(|n| *n > 0).unwrap_or(fallback)
    }

    /// A setting of the manifest; `None`: it is not set.
    pub fn config(&self, key: &str) -> Option<String> {
        let at = store(key.as_bytes())?;
        let value = unsafe { host::config_get(at) };
        unsafe { host::free(at) };
        if value == 0 {
            return None;
        }
        String::from_utf8(load(value)).ok()
    }

    /// The wording in the language of the conversation; English where it is not known.
    pub fn say<'a>(&self, en: &'a str, zh: &'a str) -> &'a str {
        match self.config("weir.locale") {
            Some(s) if s == "zh" => zh,
            _ => en,
        }
    }

    /// A line in the host's log, which no model sees.
    pub fn log(&self, level: Level, text: &str) {
        if let Some(at) = store(text.as_bytes()) {
            unsafe { host::weir_log(level as i32, at) } // the host frees it
        }
    }

    /// How far a long call is; a `total` of 0 is not known.
    pub fn progress(&self, done: i64, total: i64, message: &str) {
        let mut b = String::from("{\"done\":");
        put_int(&mut b, done);
        b.push_str(",\"total\":");
        put_int(&mut b, total);
        put_field(&mut b, ",\"message\":", message);
        b.push('}');
        if let Some(at) = store(b.as_bytes()) {
            unsafe { host::weir_progress(at) }
        }
    }

    /// Sends a request. A response of any status is one; the error says why there is none.
    pub fn http(&self, r: &Request) -> core::result::Result<Response, Error> {
        let too_large = |hint, message| Error::new("too_large", hint, message);
        let at = store(r.encode().as_bytes())
            .ok_or_else(|| too_large("Send a smaller request.", "The request does not fit the memory of the call."))?;
        let back = unsafe { host::weir_http(at) };
        unsafe { host::free(at) };
        if back == 0 {
            return Err(too_large("Ask for a smaller answer.", "The answer to a request does not fit the memory of the call."));
        }
        Response::decode(&load(back))
    }
}

impl Request {
    fn encode(&self) -> String {
        let mut b = String::new();
        put_field(&mut b, "{\"method\":", if self.method.is_empty() { "GET" } else { &self.method });
        put_field(&mut b, ",\"url\":", &self.url);
        for (i, (name, value)) in self.headers.iter().enumerate() {
            put_field(&mut b, if i == 0 { ",\"headers\":{" } else { "," }, name);
            put_field(&mut b, ":", value);
        }
        b.push_str(if self.headers.is_empty() { ",\"body\":\"" } else { "},\"body\":\"" });
        put_base64(&mut b, &self.body);
        b.push_str("\"}");
        b
    }
}

impl Response {
    fn decode(text: &[u8]) -> core::result::Result<Response, Error> {
        let v = parse(text).unwrap_or(Value::Null);
        let text = |v: &Value, name: &str| v.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
        if let Some(e) = v.get("error") {
            return Err(Error { code: text(e, "code"), hint: text(e, "hint"), message: text(e, "message") });
        }
        let status = v.get("status").and_then(Value::as_int);
        let status = status.ok_or_else(|| Error::new("failed", "", "The host's answer to a request could not be read."))?;
        let mut headers = Vec::new();
        if let Some(Value::Object(all)) = v.get("headers") {
            headers.extend(all.iter().filter_map(|(n, v)| Some((n.clone(), v.as_str()?.to_owned()))));
        }
        Ok(Response { status, url: text(&v, "url"), headers, body: from_base64(&text(&v, "body")) })
    }
}

fn wrong(name: &str, kind: &str) -> Error {
    let quoted = ["\"", name, "\""].concat();
    Error::new("bad_args", &["Give ", &quoted, " as ", kind, "."].concat(), &["Argument ", &quoted, " must be ", kind, "."].concat())
}

// ---- the answer --------------------------------------------------------------------------------

/// Reads the arguments, runs the tool and hands its answer to the host. `tool!` calls it.
pub fn run(tool: fn(&Call) -> Result) -> i32 {
    let posted = mailbox(STATE) == 1;
    let input = if posted { posted_input() } else { input() };
    let outcome = match parse(&input) {
        Some(args @ Value::Object(_)) => tool(&Call { args, posted }),
        None if input.is_empty() => tool(&Call { args: Value::Object(Vec::new()), posted }),
        _ => Err(Error::new("bad_args", "Write the arguments as {\"name\": value}.", "The arguments must be a JSON object.")),
    };
    let output = encode(outcome);
    if posted {
        post(output);
        return 0;
    }
    if let Some(at) = store(output.as_bytes()) {
        unsafe { host::output_set(at, output.len() as u64) }
        return 0;
    }
    if let Some(at) = store(b"too_large: the result does not fit the memory of the call") {
        unsafe { host::error_set(at) }
    }
    1
}

fn encode(outcome: Result) -> String {
    match outcome {
        Ok(mut a) => {
            let mut end = a.text.len().min(MAX_WHOLE + 1); // a byte more tells the host that there is more
            while !a.text.is_char_boundary(end) {
                end += 1;
            }
            a.text.truncate(end);
            encode_answer(&a)
        }
        Err(e) => encode_error(&e),
    }
}

fn encode_answer(a: &Answer) -> String {
    let mut b = String::with_capacity(a.text.len() + a.text.len() / 8 + 128);
    put_field(&mut b, "{\"content\":[{\"type\":\"text\",\"text\":", &a.text);
    b.push('}');
    for p in &a.parts {
        put_part(&mut b, p);
    }
    b.push_str("],\"sources\":[");
    for (i, s) in a.sources.iter().enumerate() {
        put_field(&mut b, if i == 0 { "{\"title\":" } else { ",{\"title\":" }, &s.title);
        put_field(&mut b, ",\"url\":", &s.url);
        b.push('}');
    }
    b.push(']');
    if let Some(m) = &a.more {
        b.push_str(",\"more\":{\"shown\":");
        put_int(&mut b, m.shown);
        b.push_str(",\"total\":");
        put_int(&mut b, m.total);
        if !m.args.is_empty() {
            b.push_str(",\"args\":");
            b.push_str(&m.args);
        }
        b.push('}');
    }
    if !a.entries.lines.is_empty() {
        b.push_str(",\"entries\":{\"lines\":");
        for (i, n) in a.entries.lines.iter().enumerate() {
            b.push(if i == 0 { '[' } else { ',' });
            put_int(&mut b, *n);
        }
        b.push_str("],\"show\":");
        put_int(&mut b, a.entries.show);
        b.push('}');
    }
    b.push_str(",\"isError\":false}");
    b
}

fn encode_error(e: &Error) -> String {
    let mut b = String::new();
    put_field(&mut b, "{\"content\":[{\"type\":\"text\",\"text\":", &e.message);
    put_field(&mut b, "}],\"isError\":true,\"error\":{\"code\":", &e.code);
    put_field(&mut b, ",\"message\":", &e.message);
    put_field(&mut b, ",\"hint\":", &e.hint);
    b.push_str("}}");
    b
}

fn put_part(b: &mut String, p: &Part) {
    if !p.mime.starts_with("image/") && !p.mime.starts_with("audio/") {
        put_field(b, ",{\"type\":\"resource\",\"resource\":{\"uri\":", &["part:", &p.name].concat());
        put_field(b, ",\"mimeType\":", &p.mime);
        b.push_str(",\"blob\":\"");
        put_base64(b, &p.data);
        b.push_str("\"}}");
        return;
    }
    put_field(b, ",{\"type\":", &p.mime[..5]);
    b.push_str(",\"data\":\"");
    put_base64(b, &p.data);
    put_field(b, "\",\"mimeType\":", &p.mime);
    put_field(b, ",\"name\":", &p.name);
    b.push('}');
}

fn put_field(b: &mut String, before: &str, text: &str) {
    b.push_str(before);
    put_string(b, text);
}

fn put_string(b: &mut String, text: &str) {
    b.push('"');
    let mut plain = 0;
    for (i, c) in text.bytes().enumerate() {
        if c >= 0x20 && c != b'"' && c != b'\\' {
            continue;
        }
        b.push_str(&text[plain..i]);
        plain = i + 1;
        match c {
            b'\n' => b.push_str("\\n"),
            b'"' => b.push_str("\\\""),
            b'\\' => b.push_str("\\\\"),
            _ => {
                b.push_str("\\u00");
                b.push((b'0' + (c >> 4)) as char);
                b.push(b"0123456789abcdef"[(c & 15) as usize] as char);
            }
        }
    }
    b.push_str(&text[plain..]);
    b.push('"');
}

fn put_int(b: &mut String, n: i64) {
    let mut digits = [0u8; 20];
    let (mut at, mut rest) = (digits.len(), n.unsigned_abs());
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if n < 0 {
        b.push('-');
    }
    b.extend(digits[at..].iter().map(|d| *d as char));
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn put_base64(b: &mut String, data: &[u8]) {
    for three in data.chunks(3) {
        let v = three.iter().enumerate().fold(0u32, |v, (i, x)| v | (*x as u32) << (16 - 8 * i));
        for i in 0..4 {
            b.push(if i <= three.len() { DIGITS[(v >> (18 - 6 * i) & 63) as usize] as char } else { '=' });
        }
    }
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut v, mut bits) = (0u32, 0);
    for c in text.bytes() {
        let d = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => break,
        };
        v = v << 6 | d as u32;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            out.push((v >> bits) as u8);
        }
    }
    out
}

// ---- JSON --------------------------------------------------------------------------------------

impl Value {
    /// A member of an object; `None`: there is none, or this is no object.
    pub fn get(&self, name: &str) -> Option<&Value> {
        match self {
            Value::Object(all) => all.iter().find(|(n, _)| n == name).map(|(_, v)| v),
            _ => None,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Text(s) => Some(s),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            _ => None,
        }
    }

    pub fn as_num(&self) -> Option<f64> {
        match self {
            Value::Number(s) => s.parse().ok(),
            _ => None,
        }
    }

    /// A whole number, written 5 or 5.0; with a point or an exponent up to 2^53.
    pub fn as_int(&self) -> Option<i64> {
        match self {
            Value::Number(s) => s.parse().ok().or_else(|| whole(s.parse().ok()?)),
            _ => None,
        }
    }

    /// The elements of a list; of anything else none.
    pub fn list(&self) -> &[Value] {
        match self {
            Value::List(all) => all,
            _ => &[],
        }
    }

    /// The value as JSON text.
    pub fn to_json(&self) -> String {
        let mut b = String::new();
        self.put(&mut b);
        b
    }

    fn put(&self, b: &mut String) {
        match self {
            Value::Null => b.push_str("null"),
            Value::Bool(v) => b.push_str(if *v { "true" } else { "false" }),
            Value::Number(s) => b.push_str(s),
            Value::Text(s) => put_string(b, s),
            Value::List(all) => {
                for (i, v) in all.iter().enumerate() {
                    b.push(if i == 0 { '[' } else { ',' });
                    v.put(b);
                }
                b.push_str(if all.is_empty() { "[]" } else { "]" });
            }
            Value::Object(all) => {
                for (i, (name, v)) in all.iter().enumerate() {
                    put_field(b, if i == 0 { "{" } else { "," }, name);
                    b.push(':');
                    v.put(b);
                }
                b.push_str(if all.is_empty() { "{}" } else { "}" });
            }
        }
    }
}

fn whole(f: f64) -> Option<i64> {
    let n = f as i64;
    if n as f64 == f && (-(1i64 << 53)..=1 << 53).contains(&n) { Some(n) } else { None }
}

/// Reads one JSON value; `None`: it is none, or has something after it, or nests too deep.
pub fn parse(text: &[u8]) -> Option<Value> {
    let mut p = Parser { text, at: 0 };
    let v = p.value(100)?;
    p.space();
    if p.at == text.len() { Some(v) } else { None }
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn space(&mut self) {
        while matches!(self.text.get(self.at), Some(b' ' | b'\n' | b'\t' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, c: u8) -> bool {
        self.space();
        let is = self.text.get(self.at) == Some(&c);
        self.at += is as usize;
        is
    }

    fn word(&mut self, word: &str, v: Value) -> Option<Value> {
        self.at += word.len();
        if self.text.get(self.at - word.len()..self.at) == Some(word.as_bytes()) { Some(v) } else { None }
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        self.space();
        match *self.text.get(self.at)? {
            b'"' => Some(Value::Text(self.string()?)),
            b'{' if depth > 0 => self.object(depth - 1),
            b'[' if depth > 0 => self.list(depth - 1),
            b't' => self.word("true", Value::Bool(true)),
            b'f' => self.word("false", Value::Bool(false)),
            b'n' => self.word("null", Value::Null),
            b'-' | b'0'..=b'9' => Some(self.number()),
            _ => None,
        }
    }

    fn number(&mut self) -> Value {
        let from = self.at;
        while matches!(self.text.get(self.at), Some(b'-' | b'+' | b'.' | b'e' | b'E' | b'0'..=b'9')) {
            self.at += 1;
        }
        Value::Number(self.text[from..self.at].iter().map(|c| *c as char).collect())
    }

    fn list(&mut self, depth: u32) -> Option<Value> {
        let mut all = Vec::new();
        self.at += 1;
        if self.take(b']') {
            return Some(Value::List(all));
        }
        loop {
            all.push(self.value(depth)?);
            if self.take(b']') {
                return Some(Value::List(all));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn object(&mut self, depth: u32) -> Option<Value> {
        let mut all = Vec::new();
        self.at += 1;
        if self.take(b'}') {
            return Some(Value::Object(all));
        }
        loop {
            self.space();
            let name = self.string()?;
            if !self.take(b':') {
                return None;
            }
            all.push((name, self.value(depth)?));
            if self.take(b'}') {
                return Some(Value::Object(all));
            }
            if !self.take(b',') {
                return None;
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        if self.text.get(self.at) != Some(&b'"') {
            return None;
        }
        self.at += 1;
        let mut out = Vec::new();
        loop {
            let from = self.at;
            while !matches!(self.text.get(self.at)?, b'"' | b'\\') {
                self.at += 1;
            }
            out.extend_from_slice(&self.text[from..self.at]);
            self.at += 1;
            if self.text[self.at - 1] == b'"' {
                return String::from_utf8(out).ok();
            }
            let c = self.escape()?;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        }
    }

    fn escape(&mut self) -> Option<char> {
        self.at += 1;
        Some(match *self.text.get(self.at - 1)? {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'u' => self.unicode()?,
            c => c as char,
        })
    }

    /// Half a pair is U+FFFD.
    fn unicode(&mut self) -> Option<char> {
        let high = self.hex()?;
        if (0xd800..0xdc00).contains(&high) && self.text.get(self.at..self.at + 2) == Some(&b"\\u"[..]) {
            let back = self.at;
            self.at += 2;
            let low = self.hex()?;
            if (0xdc00..0xe000).contains(&low) {
                return char::from_u32(0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00));
            }
            self.at = back;
        }
        Some(char::from_u32(high).unwrap_or('\u{fffd}'))
    }

    fn hex(&mut self) -> Option<u32> {
        let digits = core::str::from_utf8(self.text.get(self.at..self.at + 4)?).ok()?;
        self.at += 4;
        u32::from_str_radix(digits, 16).ok()
    }
}

// ---- the host ----------------------------------------------------------------------------------

mod host {
    #[link(wasm_import_module = "extism:host/env")]
    extern "C" {
        pub fn input_length() -> u64;
        pub fn input_load_u8(at: u64) -> u32;
        pub fn input_load_u64(at: u64) -> u64;
        pub fn alloc(length: u64) -> u64;
        pub fn free(at: u64);
        pub fn length(at: u64) -> u64;
        pub fn load_u8(at: u64) -> u32;
        pub fn load_u64(at: u64) -> u64;
        pub fn store_u8(at: u64, v: u32);
        pub fn store_u64(at: u64, v: u64);
        pub fn output_set(at: u64, length: u64);
        pub fn error_set(at: u64);
        pub fn config_get(key: u64) -> u64;
    }
    #[link(wasm_import_module = "extism:host/user")]
    extern "C" {
        pub fn weir_http(request: u64) -> u64;
        pub fn weir_progress(report: u64);
        pub fn weir_log(level: i32, text: u64);
    }
}

/// A copy in the host's memory; `None`: it has none left.
fn store(b: &[u8]) -> Option<u64> {
    let at = unsafe { host::alloc(b.len() as u64) };
    if at == 0 {
        return None;
    }
    let words = b.chunks_exact(8);
    let (rest, after) = (words.remainder(), at + (b.len() & !7) as u64);
    for (i, w) in words.enumerate() {
        let w = u64::from_le_bytes([w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7]]);
        unsafe { host::store_u64(at + 8 * i as u64, w) }
    }
    for (i, c) in rest.iter().enumerate() {
        unsafe { host::store_u8(after + i as u64, *c as u32) }
    }
    Some(at)
}

/// A copy of the host's memory, which is given back.
fn load(at: u64) -> Vec<u8> {
    let n = unsafe { host::length(at) };
    let b = copied(n, |i| unsafe { host::load_u64(at + i) }, |i| unsafe { host::load_u8(at + i) });
    unsafe { host::free(at) };
    b
}

fn input() -> Vec<u8> {
    let n = unsafe { host::input_length() };
    copied(n, |i| unsafe { host::input_load_u64(i) }, |i| unsafe { host::input_load_u8(i) })
}

fn copied(n: u64, word: impl Fn(u64) -> u64, byte: impl Fn(u64) -> u32) -> Vec<u8> {
    let mut b = Vec::with_capacity(n as usize);
    (0..n / 8).for_each(|i| b.extend_from_slice(&word(8 * i).to_le_bytes()));
    (n / 8 * 8..n).for_each(|i| b.push(byte(i) as u8));
    b
}

// The mailbox, by which a host that knows of it passes arguments and answer in one piece each
// (docs/abi.md). Others do not look at it. A guest has one thread.
static mut MAILBOX: [u32; 12] = [0x72696577, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
static mut ROOM: [u8; 4096] = [0; 4096];
const STATE: usize = 2;
const IN_PTR: usize = 3;
const IN_CAP: usize = 4;
const IN_LEN: usize = 5;
const OUT_PTR: usize = 6;
const OUT_LEN: usize = 7;
const MAX_CHARS: usize = 10;
const MAX_LINES: usize = 11;

fn mailbox(field: usize) -> u32 {
    unsafe { (core::ptr::addr_of!(MAILBOX) as *const u32).add(field).read_volatile() } // the host writes it, too
}

fn set_mailbox(field: usize, v: usize) {
    unsafe { (core::ptr::addr_of_mut!(MAILBOX) as *mut u32).add(field).write_volatile(v as u32) }
}

#[no_mangle]
extern "C" fn weir_mailbox() -> usize {
    set_mailbox(IN_PTR, unsafe { core::ptr::addr_of!(ROOM) as usize });
    set_mailbox(IN_CAP, 4096);
    unsafe { core::ptr::addr_of!(MAILBOX) as usize }
}

#[no_mangle]
extern "C" fn weir_reserve(bytes: usize) -> i32 {
    let room = Vec::<u8>::with_capacity(bytes).leak();
    set_mailbox(IN_PTR, room.as_ptr() as usize);
    set_mailbox(IN_CAP, bytes);
    1
}

fn posted_input() -> Vec<u8> {
    let (at, n) = (mailbox(IN_PTR) as usize, mailbox(IN_LEN) as usize);
    unsafe { core::slice::from_raw_parts(at as *const u8, n) }.to_vec()
}

fn post(output: String) {
    let output = output.into_bytes().leak(); // the host reads it after the call
    set_mailbox(OUT_PTR, output.as_ptr() as usize);
    set_mailbox(OUT_LEN, output.len());
    set_mailbox(STATE, 2);
}

// ---- memory without std ------------------------------------------------------------------------

/// Gives out memory and takes none back: each call starts with fresh memory. What was given out
/// last can grow in its place.
pub struct Bump;

static mut NEXT: usize = 0; // 0: nothing was given out
static mut LAST: usize = 0;

unsafe impl core::alloc::GlobalAlloc for Bump {
    unsafe fn alloc(&self, l: core::alloc::Layout) -> *mut u8 {
        extern "C" {
            static __heap_base: u8;
        }
        if NEXT == 0 {
            NEXT = core::ptr::addr_of!(__heap_base) as usize;
        }
        let at = (NEXT + l.align() - 1) & !(l.align() - 1);
        if !reach(at, l.size()) {
            return core::ptr::null_mut();
        }
        LAST = at;
        at as *mut u8
    }

    unsafe fn dealloc(&self, _: *mut u8, _: core::alloc::Layout) {}

    unsafe fn realloc(&self, p: *mut u8, l: core::alloc::Layout, size: usize) -> *mut u8 {
        if p as usize == LAST && reach(LAST, size) {
            return p;
        }
        let to = self.alloc(core::alloc::Layout::from_size_align_unchecked(size, l.align()));
        if !to.is_null() {
            core::ptr::copy_nonoverlapping(p, to, l.size().min(size));
        }
        to
    }
}

/// Makes the memory end after size bytes at `at`; false: there is not so much.
unsafe fn reach(at: usize, size: usize) -> bool {
    let end = match at.checked_add(size) {
        Some(end) => end,
        None => return false,
    };
    let have = core::arch::wasm32::memory_size(0) << 16;
    if end > have && core::arch::wasm32::memory_grow(0, (end - have + 0xffff) >> 16) == usize::MAX {
        return false;
    }
    NEXT = end;
    true
}
