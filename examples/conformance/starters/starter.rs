//! The beginning of a port in Rust: answers mix, key, uniform and below, and skips other kernels.
//!
//!     rustc -O starter.rs && minibatch-gnn conformance --cmd ./starter
//!
//! To add a kernel, write a function as `below_of`: it reads its arguments, refuses what the
//! kernel's page says, and returns the result as JSON; then name it in `call`. A JSON value is
//! the piece of the line in which it stands.

use std::io::{BufRead, Write};

enum Refused {
    Type,
    Value,
    Fault,
}
use Refused::{Fault, Type, Value};

// ---- JSON ----

/// Return the parts of a list or an object, whatever is in them.
fn parts(value: &str, open: char, close: char) -> Result<Vec<&str>, Refused> {
    let inside = value.strip_prefix(open).and_then(|v| v.strip_suffix(close)).ok_or(Fault)?;
    let (mut found, mut begin, mut depth) = (Vec::new(), 0, 0i64);
    let (mut in_text, mut escaped) = (false, false);
    for (i, letter) in inside.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' if in_text => escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '[' | '{' => depth += 1,
            ']' | '}' => depth -= 1,
            ',' if depth == 0 => {
                found.push(inside[begin..i].trim());
                begin = i + 1;
            }
            _ => {}
        }
        if depth < 0 {
            return Err(Fault);
        }
    }
    if in_text || depth > 0 {
        return Err(Fault);
    }
    if !inside.trim().is_empty() {
        found.push(inside[begin..].trim());
    }
    Ok(found)
}

fn find<'a>(object: &'a str, name: &str) -> Result<Option<&'a str>, Refused> {
    for member in parts(object, '{', '}')? {
        let (key, value) = member.split_once(':').ok_or(Fault)?;
        if text(key.trim()) == Some(name) {
            return Ok(Some(value.trim()));
        }
    }
    Ok(None)
}

fn need<'a>(object: &'a str, name: &str) -> Result<&'a str, Refused> {
    find(object, name)?.ok_or(Fault)
}

/// Return what stands in quotes; no word of the protocol has an escape.
fn text(value: &str) -> Option<&str> {
    value.strip_prefix('"')?.strip_suffix('"')
}

/// Return an integer in [low, high]: a decimal string is one, a number with a point is not.
fn integer(value: &str, low: u64, high: u64) -> Result<u64, Refused> {
    let digits = text(value).unwrap_or(value);
    let unsigned = digits.strip_prefix('-').unwrap_or(digits);
    if unsigned.is_empty() || !unsigned.bytes().all(|digit| digit.is_ascii_digit()) {
        return Err(Type);
    }
    let whole = unsigned.parse().map_err(|_| Value)?;
    let negative = unsigned != digits && whole > 0;
    if negative || whole < low || whole > high { Err(Value) } else { Ok(whole) }
}

fn word(value: &str) -> Result<u64, Refused> {
    integer(value, 0, u64::MAX)
}

// ---- Streams ----

const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn uniform(k: u64, c: u64) -> f64 {
    let state = k.wrapping_add(GOLD.wrapping_mul(c.wrapping_add(1)));
    (mix(state) >> 11) as f64 / (1u64 << 53) as f64
}

fn below(k: u64, c: u64, n: u64) -> u64 {
    (uniform(k, c) * n as f64) as u64
}

// ---- Answers ----

type Answer = Result<String, Refused>;

/// Return what a function gives for a counter, or for each of an array of them.
fn each(counters: &str, dtype: &str, draw: impl Fn(u64) -> String) -> Answer {
    if !counters.starts_with('{') {
        return Ok(draw(word(counters)?));
    }
    if text(need(counters, "dtype")?) != Some("uint64") {
        return Err(Type);
    }
    let mut drawn = Vec::new();
    for counter in parts(need(counters, "data")?, '[', ']')? {
        drawn.push(draw(word(counter)?));
    }
    let (shape, data) = (need(counters, "shape")?, drawn.join(","));
    Ok(format!("{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data\":[{data}]}}"))
}

fn key_of(args: &str) -> Answer {
    let mut a = 0u64;
    for part in parts(need(args, "parts")?, '[', ']')? {
        a = mix(a.wrapping_add(GOLD).wrapping_add(word(part)?));
    }
    Ok(format!("\"{a}\""))
}

fn below_of(args: &str) -> Answer {
    let (k, n) = (word(need(args, "k")?)?, integer(need(args, "n")?, 1, (1 << 53) - 1)?);
    each(need(args, "c")?, "int64", |c| below(k, c, n).to_string())
}

/// Return the members of the answer to a question.
fn call(question: &str) -> Answer {
    if find(question, "hello")?.is_some() {
        return Ok("\"name\":\"starter.rs\",\"version\":\"1\"".to_string());
    }
    let args = need(question, "args")?;
    let result = match text(need(question, "call")?) {
        Some("mix") => each(need(args, "x")?, "uint64", |x| format!("\"{}\"", mix(x))),
        Some("key") => key_of(args),
        Some("uniform") => {
            let k = word(need(args, "k")?)?;
            each(need(args, "c")?, "float64", |c| uniform(k, c).to_string())
        }
        Some("below") => below_of(args),
        _ => return Ok("\"skip\":\"not implemented\"".to_string()),
    };
    Ok(format!("\"result\":{}", result?))
}

fn main() -> std::io::Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().split(b'\n') {
        let line = String::from_utf8_lossy(&line?).into_owned();
        let question = line.trim();
        let said = match call(question) {
            Ok(members) => members,
            Err(Type) => "\"error\":\"type\"".to_string(),
            Err(Value) => "\"error\":\"value\"".to_string(),
            Err(Fault) => "\"fault\":\"the question cannot be read\"".to_string(),
        };
        let id = find(question, "id").ok().flatten().filter(|id| word(id).is_ok());
        let id = id.map_or(String::new(), |id| format!("\"id\":{id},"));
        writeln!(output, "{{{id}{said}}}")?;
        output.flush()?;
    }
    Ok(())
}
