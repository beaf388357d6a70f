//! The beginning of a port in Rust: answers mix, key, uniform and below, and skips other kernels.
//!
//!     rustc -O starter.rs && minibatch-gnn conformance --cmd ./starter
//!
//! To add a kernel, write a function as `below_of`: it reads its arguments, refuses what the
//! kernel's page says, and returns what computes the result; then name it in `kernel`. What computes
//! is apart from what reads and what writes, since it alone is timed. A JSON value is the piece of
//! the line in which it stands.

use std::hint::black_box;
use std::io::{BufRead, Write};
use std::time::Instant;

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

// ---- Kernels ----

enum Numbers {
    Words(Vec<u64>),
    Integers(Vec<u64>),
    Reals(Vec<f64>),
}
use Numbers::{Integers, Reals, Words};

/// What computes a result, and the shape that it has: of a single number none.
struct Kernel<'a> {
    compute: Box<dyn Fn() -> Numbers + 'a>,
    shape: Option<&'a str>,
}

fn words(list: &str) -> Result<Vec<u64>, Refused> {
    parts(list, '[', ']')?.into_iter().map(word).collect()
}

/// Return what computes a function of a counter, or of each of an array of them.
fn each<'a, T: 'a>(
    counters: &'a str,
    numbers: fn(Vec<T>) -> Numbers,
    draw: impl Fn(u64) -> T + 'a,
) -> Result<Kernel<'a>, Refused> {
    let (given, shape) = if !counters.starts_with('{') {
        (vec![word(counters)?], None)
    } else if text(need(counters, "dtype")?) == Some("uint64") {
        (words(need(counters, "data")?)?, Some(need(counters, "shape")?))
    } else {
        return Err(Type);
    };
    let compute = move || numbers(given.iter().map(|&c| draw(c)).collect());
    Ok(Kernel { compute: Box::new(compute), shape })
}

fn key_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let given = words(need(args, "parts")?)?;
    let key = move || given.iter().fold(0u64, |a, &p| mix(a.wrapping_add(GOLD).wrapping_add(p)));
    Ok(Kernel { compute: Box::new(move || Words(vec![key()])), shape: None })
}

fn uniform_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let k = word(need(args, "k")?)?;
    each(need(args, "c")?, Reals, move |c| uniform(k, c))
}

fn below_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (k, n) = (word(need(args, "k")?)?, integer(need(args, "n")?, 1, (1 << 53) - 1)?);
    each(need(args, "c")?, Integers, move |c| below(k, c, n))
}

fn kernel<'a>(name: &str, args: &'a str) -> Result<Option<Kernel<'a>>, Refused> {
    Ok(Some(match name {
        "mix" => each(need(args, "x")?, Words, mix)?,
        "key" => key_of(args)?,
        "uniform" => uniform_of(args)?,
        "below" => below_of(args)?,
        _ => return Ok(None),
    }))
}

// ---- Answers ----

fn joined<T: ToString>(list: &[T]) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn written(numbers: &Numbers, shape: Option<&str>) -> String {
    let (dtype, data) = match numbers {
        Words(list) => ("uint64", joined(list)),
        Integers(list) => ("int64", joined(list)),
        Reals(list) => ("float64", joined(list)),
    };
    match shape {
        Some(shape) => format!("{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data\":[{data}]}}"),
        None => data,
    }
}

/// Return the nanoseconds of each round.
fn timed(compute: &dyn Fn() -> Numbers, rounds: u64) -> Vec<u128> {
    let round = |_| {
        let begin = Instant::now();
        black_box(compute());
        begin.elapsed().as_nanos()
    };
    (0..rounds).map(round).collect()
}

/// Return the members of the answer to a question.
fn call(question: &str) -> Result<String, Refused> {
    if find(question, "hello")?.is_some() {
        return Ok("\"name\":\"starter.rs\",\"version\":\"1\"".to_string());
    }
    let name = text(need(question, "call")?).ok_or(Fault)?;
    let Some(Kernel { compute, shape }) = kernel(name, need(question, "args")?)? else {
        return Ok("\"skip\":\"not implemented\"".to_string());
    };
    let result = written(&compute(), shape);
    let Some(rounds) = find(question, "time")? else {
        return Ok(format!("\"result\":{result}"));
    };
    let took = joined(&timed(&*compute, integer(rounds, 1, 1_000_000)?));
    Ok(format!("\"result\":{result},\"nanoseconds\":[{took}]"))
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
