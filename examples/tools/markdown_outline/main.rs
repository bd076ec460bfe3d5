//! markdown_outline gives the headings of a Markdown file, so that a model can read the one
//! section that it needs instead of the whole. Built for wasm32-wasi, for its files.

mod weir;

use std::{fs, io::ErrorKind};
use weir::{Answer, Call, Error, Source};

weir::tool!(markdown_outline);

struct Heading<'a> {
    level: usize,
    title: &'a str,
    line: usize, // from 0
}

fn markdown_outline(c: &Call) -> weir::Result {
    let path = c.arg_str("path", "")?;
    let text = read(path)?;
    let lines: Vec<&str> = text.lines().collect();
    let headings = headings(&lines);
    let wanted = c.arg_str("section", "")?;
    let text = if wanted.is_empty() { outline(c, &headings, lines.len()) } else { section(&headings, &lines, wanted)? };
    let sources = vec![Source { title: String::new(), url: path.to_string() }];
    Ok(Answer { sources, ..Answer::text(text) })
}

fn read(path: &str) -> Result<String, Error> {
    let bytes = fs::read(format!("/workspace/{path}")).map_err(|e| match e.kind() {
        ErrorKind::NotFound => Error::new("bad_args", "Look at the names with another tool, and give one of them.", "There is no such file."),
        _ => Error::new("denied", "Give a file of the workspace, without .. in its path.", "The file cannot be opened."),
    })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Headings with # and those that are underlined; fenced code has none.
fn headings<'a>(lines: &[&'a str]) -> Vec<Heading<'a>> {
    let (mut out, mut fence) = (Vec::new(), "");
    for (i, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        if let Some(mark) = ["```", "~~~"].into_iter().find(|m| bare.starts_with(m)) {
            fence = if fence.is_empty() { mark } else if fence == mark { "" } else { fence };
        }
        if !fence.is_empty() || line.starts_with("    ") {
            continue;
        }
        let level = bare.bytes().take_while(|b| *b == b'#').count();
        let below = lines.get(i + 1).map_or("", |l| l.trim_end());
        if (1..=6).contains(&level) && bare[level..].starts_with([' ', '\t']) {
            out.push(Heading { level, title: bare[level..].trim().trim_end_matches('#').trim_end(), line: i });
        } else if !bare.is_empty() && !bare.starts_with(['-', '>', '|', '*']) && below.len() > 1 {
            let level = if below.bytes().all(|b| b == b'=') { 1 } else if below.bytes().all(|b| b == b'-') { 2 } else { continue };
            out.push(Heading { level, title: bare.trim_end(), line: i });
        }
    }
    out
}

/// The line after the section that begins with heading i.
fn end(headings: &[Heading], i: usize, lines: usize) -> usize {
    headings[i + 1..].iter().find(|h| h.level <= headings[i].level).map_or(lines, |h| h.line)
}

fn outline(c: &Call, headings: &[Heading], lines: usize) -> String {
    if headings.is_empty() {
        return c.say("The file has no headings.", "文件中没有标题。").to_string();
    }
    let word = c.say("line", "行");
    let rows = headings.iter().enumerate().map(|(i, h)| {
        format!("{}{} ({} {}–{})\n", "  ".repeat(h.level - 1), h.title, word, h.line + 1, end(headings, i, lines))
    });
    rows.collect()
}

fn section(headings: &[Heading], lines: &[&str], wanted: &str) -> Result<String, Error> {
    let low = wanted.to_lowercase();
    let place = |fits: &dyn Fn(&str) -> bool| headings.iter().position(|h| fits(&h.title.to_lowercase()));
    let found = place(&|t| t == low).or_else(|| place(&|t| t.starts_with(&low))).or_else(|| place(&|t| t.contains(&low)));
    let i = found.ok_or_else(|| {
        let known: Vec<&str> = headings.iter().take(12).map(|h| h.title).collect();
        Error::new("bad_args", &format!("There are: {}.", known.join("; ")), &format!("No heading is called \"{wanted}\"."))
    })?;
    Ok(lines[headings[i].line..end(headings, i, lines.len())].join("\n") + "\n")
}
