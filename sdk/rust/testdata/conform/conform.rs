//! conform is the tool that every SDK of weir has: it does what its argument `do` says, so that the
//! vectors of sdk/testdata/abi can ask each SDK for the same. It is built with and without std.
#![cfg_attr(no_std, no_std)]

extern crate alloc;

#[path = "../../weir.rs"]
mod weir;

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use weir::{Answer, Call, Error, Level, More, Part, Request, Source, Value};

#[cfg(no_std)]
weir::without_std!();
weir::tool!(conform);

static mut CALLS: i64 = 0; // 1 in every call: each starts fresh

fn conform(c: &Call) -> weir::Result {
    let calls = unsafe {
        CALLS += 1;
        CALLS
    };
    let text = c.arg_str("text", "")?;
    Ok(match c.arg_str("do", "")? {
        "echo" => Answer::text(text),
        "repeat" => Answer::text(text.repeat(c.arg_int("count", 0)? as usize)),
        "length" => Answer::text(format!("{} characters, {} bytes", text.chars().count(), text.len())),
        "args" => arguments(c)?,
        "sources" => sources(c),
        "more" => more(c)?,
        "entries" => entries(c)?,
        "part" => Answer {
            parts: vec![Part { mime: "image/png".to_string(), name: "dot.png".to_string(), data: b"\x89PNG\x00\xff".to_vec() }],
            ..Answer::text("a picture")
        },
        "fail" => return Err(Error::new(c.arg_str("code", "failed")?, c.arg_str("hint", "")?, text)),
        "limits" => Answer::text(format!("{} characters, {} lines", c.max_chars(), c.max_lines())),
        "config" => Answer::text(c.config(c.arg_str("key", "")?).unwrap_or_else(|| "not set".to_string())),
        "say" => Answer::text(c.say("good morning", "早上好")),
        "log" => {
            c.log(Level::Warn, text);
            Answer::text("logged")
        }
        "progress" => {
            c.progress(1, 2, text);
            Answer::text("told")
        }
        "http" => fetch(c)?,
        "state" => Answer::text(format!("call {calls}")),
        "trap" => panic!("as told"),
        _ => return Err(Error::new("bad_args", "", "Argument \"do\" names nothing that is known.")),
    })
}

fn arguments(c: &Call) -> weir::Result {
    let answer = if c.arg_bool("flag", false)? { "yes" } else { "no" };
    let mut list = String::from("list");
    for s in c.arg("list").map_or(&[][..], Value::list).iter().filter_map(Value::as_str) {
        list.push(' ');
        list.push_str(s);
    }
    let deep = c.arg("object").and_then(|o| o.get("deep")).and_then(Value::as_str).unwrap_or("absent");
    let (twice, whole) = (c.arg_num("number", 0.0)? * 2.0, c.arg_int("whole", 7)?);
    Ok(Answer::text(format!("twice the number is {twice}, whole {whole}, {answer}, {list}, deep {deep}")))
}

fn sources(c: &Call) -> Answer {
    let text = |v: &Value, name| v.get(name).and_then(Value::as_str).unwrap_or("").to_string();
    let all = c.arg("sources").map_or(&[][..], Value::list);
    Answer {
        sources: all.iter().map(|v| Source { title: text(v, "title"), url: text(v, "url") }).collect(),
        ..Answer::text("see the sources")
    }
}

fn more(c: &Call) -> weir::Result {
    let args = c.arg("args").map_or(String::new(), Value::to_json);
    let more = Some(More { shown: c.arg_int("shown", 0)?, total: c.arg_int("total", 0)?, args });
    Ok(Answer { more, ..Answer::text("the first part") })
}

fn entries(c: &Call) -> weir::Result {
    let mut a = Answer::text("a list\n");
    a.entries.show = c.arg_int("count", 0)?;
    for s in c.arg("list").map_or(&[][..], Value::list).iter().filter_map(Value::as_str) {
        a.entry();
        a.text.push_str(s);
    }
    Ok(a)
}

fn fetch(c: &Call) -> weir::Result {
    let r = c.http(&Request {
        method: c.arg_str("method", "")?.to_string(),
        url: c.arg_str("url", "")?.to_string(),
        headers: vec![("X-Conform".to_string(), "yes".to_string())],
        body: c.arg_str("body", "")?.as_bytes().to_vec(),
    })?;
    Ok(Answer::text(format!("{} {} {}", r.status, r.header("Content-Type"), String::from_utf8_lossy(&r.body))))
}
