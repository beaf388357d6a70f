//! The beginning of a port in Rust: answers the streams (mix, key, uniform, below) and one sampler
//! (pick_without_replacement, frontier), and skips other kernels.
//!
//!     rustc -O starter.rs && minibatch-gnn conformance --cmd ./starter
//!
//! To add a kernel, write a function as `below_of`: it reads its arguments, refuses what the
//! kernel's page says, and returns what computes the result; then name it in `kernel`. What
//! computes is apart from what reads and what writes, since it alone is timed. A JSON value is the
//! piece of the line in which it stands. `frontier_of` shows how to read a graph and how to return
//! named values and states.

use std::collections::{BTreeSet, HashMap};
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

const INT32: u64 = i32::MAX as u64;

/// The neighbours of node v are `indices[indptr[v]..indptr[v + 1]]`, in ascending order.
struct Graph {
    indptr: Vec<usize>,
    indices: Vec<usize>,
}

impl Graph {
    fn read(value: &str) -> Result<Graph, Refused> {
        let inside = if value.starts_with('{') { find(value, "graph")? } else { None };
        let list = |name| {
            let part = need(inside.ok_or(Type)?, name)?;
            let data = if part.starts_with('{') { need(part, "data")? } else { part };
            Ok(words(data)?.into_iter().map(|x| x as usize).collect())
        };
        Ok(Graph { indptr: list("indptr")?, indices: list("indices")? })
    }

    fn nodes(&self) -> usize {
        self.indptr.len() - 1
    }

    fn near(&self, v: usize) -> &[usize] {
        &self.indices[self.indptr[v]..self.indptr[v + 1]]
    }

    fn is_undirected(&self) -> bool {
        let has = |u: usize, v: usize| self.near(u).binary_search(&v).is_ok();
        (0..self.nodes()).all(|v| self.near(v).iter().all(|&u| has(u, v)))
    }
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
    Ids(Vec<usize>),
    Named(Vec<(&'static str, Numbers)>),
}
use Numbers::{Ids, Integers, Named, Reals, Words};

/// Where a kernel that works in steps puts the state before the first step and after each.
type States<'s> = Option<&'s mut Vec<String>>;

/// What computes a result, and the shape that it has: of a single number none.
struct Kernel<'a> {
    compute: Box<dyn Fn(States) -> Numbers + 'a>,
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
    let compute = move |_: States| numbers(given.iter().map(|&c| draw(c)).collect());
    Ok(Kernel { compute: Box::new(compute), shape })
}

fn key_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let given = words(need(args, "parts")?)?;
    let key = move || given.iter().fold(0u64, |a, &p| mix(a.wrapping_add(GOLD).wrapping_add(p)));
    Ok(Kernel { compute: Box::new(move |_| Words(vec![key()])), shape: None })
}

fn uniform_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let k = word(need(args, "k")?)?;
    each(need(args, "c")?, Reals, move |c| uniform(k, c))
}

fn below_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (k, n) = (word(need(args, "k")?)?, integer(need(args, "n")?, 1, (1 << 53) - 1)?);
    each(need(args, "c")?, Integers, move |c| below(k, c, n))
}

fn pick(k: u64, c: u64, total: usize, m: usize) -> Vec<usize> {
    let mut deck = HashMap::new(); // the cards that are not in their own place
    let mut picked = Vec::with_capacity(m);
    for i in 0..m {
        let j = i + below(k, c.wrapping_add(i as u64), (total - i) as u64) as usize;
        picked.push(*deck.get(&j).unwrap_or(&j));
        deck.insert(j, *deck.get(&i).unwrap_or(&i));
    }
    picked
}

fn pick_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (k, c) = (word(need(args, "k")?)?, word(need(args, "c")?)?);
    let total = integer(need(args, "N")?, 0, INT32)?;
    let m = integer(need(args, "m")?, 0, total)?;
    let compute = move |_: States| Ids(pick(k, c, total as usize, m as usize));
    Ok(Kernel { compute: Box::new(compute), shape: None })
}

/// What `frontier` is given.
struct Walk {
    graph: Graph,
    main: u64,
    probe: u64,
    m: usize,
    steps: usize,
    deg_cap: usize,
    is_pushed: bool,
}

fn frontier_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let graph = Graph::read(need(args, "graph")?)?;
    let m = integer(need(args, "m")?, 1, graph.nodes() as u64)?;
    let deg_cap = match need(args, "deg_cap")? {
        "null" => INT32,
        cap => integer(cap, 1, INT32)?,
    };
    let is_pushed = match text(need(args, "include")?) {
        Some("pushed") => true,
        Some("popped") => false,
        _ => return Err(Value),
    };
    let walk = Walk {
        main: word(need(args, "main")?)?,
        probe: word(need(args, "probe")?)?,
        steps: (integer(need(args, "n")?, m, INT32)? - m) as usize,
        m: m as usize,
        deg_cap: deg_cap as usize,
        graph,
        is_pushed,
    };
    if !walk.graph.is_undirected() {
        return Err(Value);
    }
    Ok(Kernel { compute: Box::new(move |states| frontier(&walk, states)), shape: None })
}

fn frontier(walk: &Walk, mut states: States) -> Numbers {
    let degree = |v: usize| walk.graph.near(v).len();
    let weight = |v: usize| degree(v).min(walk.deg_cap);
    let mut front = pick(walk.main, 0, walk.graph.nodes(), walk.m);
    let mut sample: BTreeSet<usize> = front.iter().copied().collect();
    let (mut popped, mut pushed) = (Vec::new(), Vec::new());
    loop {
        if let Some(states) = states.as_mut() {
            let nodes: Vec<_> = sample.iter().collect();
            let (front, nodes) = (joined(&front), joined(&nodes));
            states.push(format!("{{\"frontier\":[{front}],\"sample\":[{nodes}]}}"));
        }
        let total: usize = front.iter().map(|&v| weight(v)).sum();
        if popped.len() == walk.steps || total == 0 {
            break; // 0: only isolated nodes are left
        }
        let mut drawn = below(walk.probe, popped.len() as u64, total as u64) as usize;
        let mut slot = 0;
        while drawn >= weight(front[slot]) {
            drawn -= weight(front[slot]);
            slot += 1;
        }
        let u = front[slot];
        let which = below(walk.main, (walk.m + popped.len()) as u64, degree(u) as u64);
        let v = walk.graph.near(u)[which as usize];
        front[slot] = v;
        sample.insert(if walk.is_pushed { v } else { u });
        popped.push(u);
        pushed.push(v);
    }
    let made = popped.len() as u64;
    let degrees = |list: &[usize]| list.iter().map(|&v| degree(v) as u64).sum();
    let counters = vec![
        ("pops", made),
        ("probes", made),
        ("rounds", made),
        ("draws", walk.m as u64 + made),
        ("popped_degree_sum", degrees(&popped)),
        ("added_degree_sum", degrees(&pushed)),
        ("cleanups", 0),
        ("moved", 0),
        ("truncated", 0),
        ("capacity", 0),
    ];
    let counters = counters.into_iter().map(|(name, x)| (name, Integers(vec![x])));
    Named(vec![
        ("nodes", Ids(sample.into_iter().collect())),
        ("popped", Ids(popped)),
        ("pushed", Ids(pushed)),
        ("counters", Named(counters.collect())),
    ])
}

fn kernel<'a>(name: &str, args: &'a str) -> Result<Option<Kernel<'a>>, Refused> {
    Ok(Some(match name {
        "mix" => each(need(args, "x")?, Words, mix)?,
        "key" => key_of(args)?,
        "uniform" => uniform_of(args)?,
        "below" => below_of(args)?,
        "pick_without_replacement" => pick_of(args)?,
        "frontier" => frontier_of(args)?,
        _ => return Ok(None),
    }))
}

// ---- Answers ----

fn joined<T: ToString>(list: &[T]) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn written(numbers: &Numbers, shape: Option<&str>) -> String {
    let length;
    let (dtype, data, shape) = match numbers {
        Named(parts) => {
            let part = |(name, x): &(&str, Numbers)| format!("\"{name}\":{}", written(x, None));
            let parts: Vec<_> = parts.iter().map(part).collect();
            return format!("{{\"fields\":{{{}}}}}", joined(&parts));
        }
        Ids(list) => {
            length = format!("[{}]", list.len());
            ("int32", joined(list), Some(&*length))
        }
        Words(list) => ("uint64", joined(list), shape),
        Integers(list) => ("int64", joined(list), shape),
        Reals(list) => ("float64", joined(list), shape),
    };
    match shape {
        Some(shape) => format!("{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data\":[{data}]}}"),
        None => data,
    }
}

/// Return the nanoseconds of each round.
fn timed(compute: &dyn Fn(States) -> Numbers, rounds: u64) -> Vec<u128> {
    let round = |_| {
        let begin = Instant::now();
        black_box(compute(None));
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
    let Some(rounds) = find(question, "time")? else {
        let mut states = Vec::new();
        let result = written(&compute(Some(&mut states)), shape);
        if states.is_empty() {
            return Ok(format!("\"result\":{result}"));
        }
        return Ok(format!("\"result\":{result},\"states\":[{}]", joined(&states)));
    };
    let result = written(&compute(None), shape);
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
