//! A port in Rust of every kernel of the levels core and samplers.
//!
//!     rustc -O samplers.rs
//!     minibatch-gnn conformance --cmd ./samplers --level core --level samplers
//!
//! The functions that read JSON, the streams and the loop over the questions are those of
//! `starter.rs`. A function named as a kernel computes its result; `.._of` reads its arguments,
//! and refuses what the kernel's page says.

use std::collections::{BTreeSet, HashMap, VecDeque};
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

const INT32: usize = i32::MAX as usize;

fn size(value: &str, low: usize, high: usize) -> Result<usize, Refused> {
    Ok(integer(value, low as u64, high as u64)? as usize)
}

/// Return a number; "nan", "inf" and "-inf" are numbers too.
fn real(value: &str) -> Result<f64, Refused> {
    text(value).unwrap_or(value).parse().map_err(|_| Type)
}

/// Return whether a word is the first of two.
fn is_first(value: &str, first: &str, second: &str) -> Result<bool, Refused> {
    match text(value) {
        Some(word) if word == first => Ok(true),
        Some(word) if word == second => Ok(false),
        _ => Err(Value),
    }
}

fn words(list: &str) -> Result<Vec<u64>, Refused> {
    parts(list, '[', ']')?.into_iter().map(word).collect()
}

/// Return the entries of an array with one axis, of a dtype that begins so.
fn entries<'a>(array: &'a str, dtypes: &[&str]) -> Result<Vec<&'a str>, Refused> {
    let dtype = if array.starts_with('{') { find(array, "dtype")?.and_then(text) } else { None };
    if !dtypes.iter().any(|begin| dtype.unwrap_or("").starts_with(begin)) {
        return Err(Type);
    }
    if parts(need(array, "shape")?, '[', ']')?.len() != 1 {
        return Err(Value);
    }
    parts(need(array, "data")?, '[', ']')
}

fn positions(array: &str) -> Result<Vec<usize>, Refused> {
    let list = entries(array, &["int", "uint"])?;
    list.into_iter().map(|x| size(x, 0, i64::MAX as usize)).collect()
}

/// Return the members of named values of this type.
fn fields<'a>(value: &'a str, kind: &str) -> Result<&'a str, Refused> {
    let found = if value.starts_with('{') { find(value, "type")?.and_then(text) } else { None };
    if found == Some(kind) { need(value, "fields") } else { Err(Type) }
}

// ---- Graphs ----

/// The neighbours of node v are `indices[indptr[v]..indptr[v + 1]]`, in ascending order.
struct Graph {
    indptr: Vec<usize>,
    indices: Vec<usize>,
}

impl Graph {
    /// Read an undirected graph.
    fn read(value: &str) -> Result<Graph, Refused> {
        let inside = if value.starts_with('{') { find(value, "graph")? } else { None };
        let list = |name| {
            let part = need(inside.ok_or(Type)?, name)?;
            let data = if part.starts_with('{') { need(part, "data")? } else { part };
            Ok(words(data)?.into_iter().map(|x| x as usize).collect())
        };
        let graph = Graph { indptr: list("indptr")?, indices: list("indices")? };
        if graph.is_undirected() { Ok(graph) } else { Err(Value) }
    }

    fn nodes(&self) -> usize {
        self.indptr.len() - 1
    }

    fn near(&self, v: usize) -> &[usize] {
        &self.indices[self.indptr[v]..self.indptr[v + 1]]
    }

    fn degree(&self, v: usize) -> usize {
        self.near(v).len()
    }

    fn is_undirected(&self) -> bool {
        let has = |u: usize, v: usize| self.near(u).binary_search(&v).is_ok();
        (0..self.nodes()).all(|v| self.near(v).iter().all(|&u| has(u, v)))
    }

    fn random_neighbour(&self, u: usize, main: &mut Stream) -> usize {
        self.near(u)[main.below(self.degree(u))]
    }
}

// ---- Streams ----

const GOLD: u64 = 0x9E37_79B9_7F4A_7C15;

fn mix(x: u64) -> u64 {
    let x = (x ^ (x >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    x ^ (x >> 31)
}

fn key(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |a: u64, &part| mix(a.wrapping_add(GOLD).wrapping_add(part)))
}

fn uniform(k: u64, c: u64) -> f64 {
    let state = k.wrapping_add(GOLD.wrapping_mul(c.wrapping_add(1)));
    (mix(state) >> 11) as f64 / (1u64 << 53) as f64
}

fn below(k: u64, c: u64, n: usize) -> usize {
    (uniform(k, c) * n as f64) as usize
}

/// The draws of a key, one after another.
struct Stream {
    k: u64,
    c: u64,
}

impl Stream {
    fn new(k: u64) -> Stream {
        Stream { k, c: 0 }
    }

    /// Return the number of the next draw, and pass over some.
    fn skip(&mut self, draws: usize) -> u64 {
        self.c += draws as u64;
        self.c - draws as u64
    }

    fn uniform(&mut self) -> f64 {
        uniform(self.k, self.skip(1))
    }

    fn below(&mut self, n: usize) -> usize {
        below(self.k, self.skip(1), n)
    }

    fn pick_without_replacement(&mut self, total: usize, m: usize) -> Vec<usize> {
        pick_without_replacement(self.k, self.skip(m), total, m)
    }
}

// ---- Choosing ----

fn pick_without_replacement(k: u64, c: u64, total: usize, m: usize) -> Vec<usize> {
    let mut deck = HashMap::new(); // the cards that are not in their own place
    let mut picked = Vec::with_capacity(m);
    for i in 0..m {
        let j = i + below(k, c.wrapping_add(i as u64), total - i);
        picked.push(*deck.get(&j).unwrap_or(&j));
        deck.insert(j, *deck.get(&i).unwrap_or(&i));
    }
    picked
}

fn permutation(key: u64, n: usize) -> Vec<usize> {
    let mut deck: Vec<usize> = (0..n).collect();
    for i in 0..n {
        deck.swap(i, i + below(key, i as u64, n - i));
    }
    deck
}

fn floyd(key: u64, n: usize, f: usize) -> Vec<usize> {
    let mut chosen = BTreeSet::new();
    for (c, last) in (n - f..n).enumerate() {
        let t = below(key, c as u64, last + 1);
        if !chosen.insert(t) {
            chosen.insert(last);
        }
    }
    chosen.into_iter().collect()
}

/// Of each of equal parts, the probability of its own number, and the other number in it.
struct AliasTable {
    prob: Vec<f64>,
    alias: Vec<usize>,
}

impl AliasTable {
    fn draw(&self, main: &mut Stream) -> usize {
        let i = main.below(self.prob.len());
        if main.uniform() < self.prob[i] { i } else { self.alias[i] }
    }
}

fn sum(weights: &[f64]) -> f64 {
    weights.iter().fold(0.0, |sum, weight| sum + weight)
}

fn alias_build(weights: &[f64]) -> AliasTable {
    let (k, total) = (weights.len(), sum(weights));
    let mut p: Vec<f64> = weights.iter().map(|weight| weight / total * k as f64).collect();
    let mut table = AliasTable { prob: vec![1.0; k], alias: (0..k).collect() };
    let (mut small, mut large): (Vec<usize>, Vec<usize>) = (0..k).partition(|&i| p[i] < 1.0);
    while !small.is_empty() {
        let Some(high) = large.pop() else { break };
        let low = small.pop().unwrap();
        table.prob[low] = p[low];
        table.alias[low] = high;
        p[high] = (p[high] + p[low]) - 1.0;
        if p[high] < 1.0 { &mut small } else { &mut large }.push(high);
    }
    table
}

// ---- Structure ----

fn transpose_perm(graph: &Graph) -> Vec<usize> {
    let mut free = graph.indptr.clone();
    let mut perm = vec![0; graph.indices.len()];
    for (j, &u) in graph.indices.iter().enumerate() {
        perm[free[u]] = j;
        free[u] += 1;
    }
    perm
}

/// Return the subgraph, and each entry's position in the given graph.
fn induced_subgraph(graph: &Graph, nodes: &[usize]) -> (Graph, Vec<usize>) {
    let (mut induced, mut edge_ids) = (Graph { indptr: vec![0], indices: vec![] }, vec![]);
    for &v in nodes {
        for j in graph.indptr[v]..graph.indptr[v + 1] {
            if let Ok(local) = nodes.binary_search(&graph.indices[j]) {
                induced.indices.push(local);
                edge_ids.push(j);
            }
        }
        induced.indptr.push(edge_ids.len());
    }
    (induced, edge_ids)
}

/// Row i has the entries `indices[start[i]..end[i]]`, out of `n_src` sources.
struct Block {
    start: Vec<usize>,
    end: Vec<usize>,
    indices: Vec<usize>,
    n_src: usize,
}

/// Return the transpose, and the position of each of its entries in the given block.
fn transpose_block(block: &Block) -> (Block, Vec<usize>) {
    let mut rows = vec![Vec::new(); block.n_src];
    for (i, (&start, &end)) in block.start.iter().zip(&block.end).enumerate() {
        for j in start..end {
            rows[block.indices[j]].push((i, j));
        }
    }
    let (mut start, mut end, mut entries) = (vec![], vec![], vec![]);
    for row in rows {
        start.push(entries.len());
        entries.extend(row);
        end.push(entries.len());
    }
    let (indices, perm) = entries.into_iter().unzip();
    (Block { start, end, indices, n_src: block.start.len() }, perm)
}

// ---- Samples ----

#[derive(Default)]
struct Counters {
    pops: usize,
    probes: usize,
    rounds: usize,
    cleanups: usize,
    moved: usize,
    truncated: usize,
    popped_degree_sum: usize,
    added_degree_sum: usize,
    capacity: usize,
    draws: usize,
}

#[derive(Default)]
struct NodeSample {
    nodes: BTreeSet<usize>,
    popped: Vec<usize>,
    pushed: Vec<usize>,
    counters: Counters,
}

impl NodeSample {
    fn new(roots: &[usize]) -> NodeSample {
        NodeSample { nodes: roots.iter().copied().collect(), ..NodeSample::default() }
    }

    fn step(&mut self, popped: usize, pushed: usize, joins: usize) {
        self.nodes.insert(joins);
        self.popped.push(popped);
        self.pushed.push(pushed);
    }

    /// Count what all samplers count alike.
    fn counted(mut self, graph: &Graph, main: &Stream) -> NodeSample {
        let degrees = |list: &[usize]| list.iter().map(|&v| graph.degree(v)).sum();
        self.counters.pops = self.popped.len();
        self.counters.popped_degree_sum = degrees(&self.popped);
        self.counters.added_degree_sum = degrees(&self.pushed);
        self.counters.draws = main.c as usize;
        self
    }
}

/// Where a kernel that works in steps puts the state before the first step and after each.
type States<'s> = Option<&'s mut Vec<String>>;

fn note(states: &mut States, sample: &NodeSample, state: impl Fn() -> String) {
    if let Some(states) = states {
        let nodes: Vec<_> = sample.nodes.iter().collect();
        states.push(format!("{{{},\"sample\":[{}]}}", state(), joined(&nodes)));
    }
}

/// What draws a sample with the keys main and probe.
type Sampler = Box<dyn Fn(&Graph, [u64; 2], States) -> NodeSample>;

// ---- Frontier samplers ----

/// The arguments of all frontier samplers.
struct Walk {
    m: usize,
    n: usize,
    deg_cap: usize,
    is_pushed: bool,
}

impl Walk {
    fn weight(&self, graph: &Graph, v: usize) -> usize {
        graph.degree(v).min(self.deg_cap)
    }

    /// Return which end of a step joins the sample.
    fn joins(&self, u: usize, v: usize) -> usize {
        if self.is_pushed { v } else { u }
    }
}

fn frontier(graph: &Graph, walk: &Walk, keys: [u64; 2], mut states: States) -> NodeSample {
    let [mut main, mut probe] = keys.map(Stream::new);
    let mut front = main.pick_without_replacement(graph.nodes(), walk.m);
    let mut sample = NodeSample::new(&front);
    let state = |front: &[usize]| format!("\"frontier\":[{}]", joined(front));
    note(&mut states, &sample, || state(&front));
    for _ in walk.m..walk.n {
        let weights: Vec<_> = front.iter().map(|&v| walk.weight(graph, v)).collect();
        let total = weights.iter().sum();
        if total == 0 {
            break;
        }
        let (mut drawn, mut slot) = (probe.below(total), 0);
        while drawn >= weights[slot] {
            drawn -= weights[slot];
            slot += 1;
        }
        let u = front[slot];
        front[slot] = graph.random_neighbour(u, &mut main);
        sample.step(u, front[slot], walk.joins(u, front[slot]));
        note(&mut states, &sample, || state(&front));
    }
    sample.counters.probes = sample.popped.len();
    sample.counters.rounds = sample.popped.len();
    sample.counted(graph, &main)
}

/// The arguments of `pin_tile` and of `dashboard`.
struct Plan {
    walk: Walk,
    capacity: usize,
    lanes: usize,
    is_everywhere: bool,
    is_truncated: bool,
}

/// What `pin_tile` and `dashboard` keep: an array in which a node has as many entries as it weighs.
trait Board {
    fn new(capacity: usize, roots: &[usize], weights: &[usize]) -> Self;
    fn capacity(&self) -> usize;
    /// Return the end of the last column.
    fn used(&self) -> usize;
    fn is_owned(&self, entry: usize) -> bool;
    /// Free the entries of a node that owns this one, and return the node and their number.
    fn pop_frontier(&mut self, entry: usize) -> (usize, usize);
    /// Move the live columns to the front.
    fn cleanup(&mut self);
    fn double(&mut self);
    /// Give a node so many entries behind the last column.
    fn add_to_frontier(&mut self, v: usize, length: usize);
    fn state(&self) -> String;
}

fn walk_on<B: Board>(graph: &Graph, plan: &Plan, keys: [u64; 2], mut states: States) -> NodeSample {
    let (walk, mut counters) = (&plan.walk, Counters::default());
    let [mut main, mut probe] = keys.map(Stream::new);
    let roots = main.pick_without_replacement(graph.nodes(), walk.m);
    let weights: Vec<_> = roots.iter().map(|&v| walk.weight(graph, v)).collect();
    let mut owned: usize = weights.iter().sum();
    let mut board = B::new(plan.capacity.max(owned), &roots, &weights);
    let mut sample = NodeSample::new(&roots);
    note(&mut states, &sample, || board.state());
    for _ in walk.m..walk.n {
        if owned == 0 {
            break;
        }
        let limit = if plan.is_everywhere { board.capacity() } else { board.used() };
        let (mut entry, mut tries) = (probe.below(limit), 1);
        while !board.is_owned(entry) {
            entry = probe.below(limit);
            tries += 1;
        }
        let (u, freed) = board.pop_frontier(entry);
        owned -= freed;
        let v = graph.random_neighbour(u, &mut main);
        let weight = walk.weight(graph, v);
        if weight > board.capacity() - board.used() {
            board.cleanup();
            counters.cleanups += 1;
            counters.moved += owned;
        }
        while weight > board.capacity() - board.used() && !plan.is_truncated {
            board.double();
        }
        let length = weight.min(board.capacity() - board.used());
        board.add_to_frontier(v, length);
        owned += length;
        counters.probes += tries;
        counters.rounds += tries.div_ceil(plan.lanes);
        counters.truncated += usize::from(length < weight);
        sample.step(u, v, walk.joins(u, v));
        note(&mut states, &sample, || board.state());
    }
    counters.capacity = board.capacity();
    sample.counters = counters;
    sample.counted(graph, &main)
}

const NULL: i32 = -1;

/// Where the node of a tile is in the Dashboard.
struct Tile {
    node: usize,
    start: usize,
    end: usize,
    slot: usize,
}

/// The Dashboard of JPDC'21: an entry is the number of a tile.
struct PinBoard {
    pins: Vec<i32>,
    starts: Vec<usize>,         // of the columns, and the end of the last
    owners: Vec<Option<usize>>, // the tile of each column, if the column is live
    tiles: Vec<Tile>,
    popped: usize, // the tile that the next node takes over
}

impl PinBoard {
    /// Put a tile in a new column.
    fn put(&mut self, pin: usize, node: usize, length: usize) {
        let start = self.used();
        let end = start + length;
        self.tiles[pin] = Tile { node, start, end, slot: self.owners.len() };
        self.pins[start..end].fill(pin as i32);
        self.starts.push(end);
        self.owners.push(Some(pin));
    }
}

impl Board for PinBoard {
    fn new(capacity: usize, roots: &[usize], weights: &[usize]) -> PinBoard {
        let tiles = roots.iter().map(|&node| Tile { node, start: 0, end: 0, slot: 0 }).collect();
        let (pins, starts, owners) = (vec![NULL; capacity], vec![0], vec![]);
        let mut board = PinBoard { pins, starts, owners, tiles, popped: 0 };
        for (pin, (&node, &weight)) in roots.iter().zip(weights).enumerate() {
            board.put(pin, node, weight);
        }
        board
    }

    fn capacity(&self) -> usize {
        self.pins.len()
    }

    fn used(&self) -> usize {
        self.starts[self.owners.len()]
    }

    fn is_owned(&self, entry: usize) -> bool {
        self.pins[entry] != NULL
    }

    fn pop_frontier(&mut self, entry: usize) -> (usize, usize) {
        self.popped = self.pins[entry] as usize;
        let Tile { node, start, end, slot } = self.tiles[self.popped];
        self.pins[start..end].fill(NULL);
        self.owners[slot] = None;
        (node, end - start)
    }

    fn cleanup(&mut self) {
        self.pins.fill(NULL);
        self.starts.truncate(1);
        for pin in std::mem::take(&mut self.owners).into_iter().flatten() {
            let Tile { node, start, end, .. } = self.tiles[pin];
            self.put(pin, node, end - start);
        }
    }

    fn double(&mut self) {
        self.pins.resize(2 * self.pins.len(), NULL);
    }

    fn add_to_frontier(&mut self, v: usize, length: usize) {
        self.put(self.popped, v, length);
    }

    fn state(&self) -> String {
        let owner = |owner: &Option<usize>| owner.map_or(NULL, |pin| pin as i32);
        let tiles = |part: fn(&Tile) -> usize| listed(&self.tiles, part);
        format!(
            "\"DB\":[{}],\"IA_start\":[{}],\"IA_live\":[{}],\"IA_tile\":[{}],\
             \"node\":[{}],\"start\":[{}],\"end\":[{}],\"slot\":[{}]",
            joined(&self.pins),
            joined(&self.starts),
            listed(&self.owners, Option::is_some),
            listed(&self.owners, owner),
            tiles(|tile| tile.node),
            tiles(|tile| tile.start),
            tiles(|tile| tile.end),
            tiles(|tile| tile.slot),
        )
    }
}

/// An entry of the Dashboard of IPDPS'19. The offset is counted from the first entry of the node,
/// which has minus the number of entries instead.
#[derive(Clone, Copy)]
struct Entry {
    node: i32,
    offset: i32,
    column: i32,
}

const FREE: Entry = Entry { node: NULL, offset: 0, column: NULL };

/// The Dashboard of IPDPS'19: an entry has all that is known about its node.
struct SlotBoard {
    entries: Vec<Entry>,
    starts: Vec<usize>, // of the columns, and the end of the last
    live: Vec<bool>,
}

impl SlotBoard {
    /// Put entries in a new column.
    fn append(&mut self, entries: &[Entry]) {
        let (start, column) = (self.used(), self.live.len() as i32);
        for (k, &entry) in entries.iter().enumerate() {
            self.entries[start + k] = Entry { column, ..entry };
        }
        self.starts.push(start + entries.len());
        self.live.push(true);
    }
}

impl Board for SlotBoard {
    fn new(capacity: usize, roots: &[usize], weights: &[usize]) -> SlotBoard {
        let mut board = SlotBoard { entries: vec![FREE; capacity], starts: vec![0], live: vec![] };
        for (&node, &weight) in roots.iter().zip(weights) {
            board.add_to_frontier(node, weight);
        }
        board
    }

    fn capacity(&self) -> usize {
        self.entries.len()
    }

    fn used(&self) -> usize {
        self.starts[self.live.len()]
    }

    fn is_owned(&self, entry: usize) -> bool {
        self.entries[entry].node != NULL
    }

    fn pop_frontier(&mut self, entry: usize) -> (usize, usize) {
        let Entry { node, offset, column } = self.entries[entry];
        let start = entry - offset.max(0) as usize;
        let length = -self.entries[start].offset as usize;
        self.entries[start..start + length].fill(FREE);
        self.live[column as usize] = false;
        (node as usize, length)
    }

    fn cleanup(&mut self) {
        let moved = vec![FREE; self.entries.len()];
        let entries = std::mem::replace(&mut self.entries, moved);
        let starts = std::mem::replace(&mut self.starts, vec![0]);
        for (column, is_live) in std::mem::take(&mut self.live).into_iter().enumerate() {
            if is_live {
                self.append(&entries[starts[column]..starts[column + 1]]);
            }
        }
    }

    fn double(&mut self) {
        self.entries.resize(2 * self.entries.len(), FREE);
    }

    fn add_to_frontier(&mut self, v: usize, length: usize) {
        let offset = |k| if k > 0 { k } else { -(length as i32) };
        let entry = |k| Entry { node: v as i32, offset: offset(k), column: NULL };
        self.append(&(0..length as i32).map(entry).collect::<Vec<_>>());
    }

    fn state(&self) -> String {
        format!(
            "\"node\":[{}],\"offset\":[{}],\"column\":[{}],\"IA_start\":[{}],\"IA_live\":[{}]",
            listed(&self.entries, |entry| entry.node),
            listed(&self.entries, |entry| entry.offset),
            listed(&self.entries, |entry| entry.column),
            joined(&self.starts),
            joined(&self.live),
        )
    }
}

fn pin_tile(graph: &Graph, plan: &Plan, keys: [u64; 2], states: States) -> NodeSample {
    walk_on::<PinBoard>(graph, plan, keys, states)
}

fn dashboard(graph: &Graph, plan: &Plan, keys: [u64; 2], states: States) -> NodeSample {
    walk_on::<SlotBoard>(graph, plan, keys, states)
}

/// The slots of the weights 2**j to 2**(j + 1) - 1, for each j.
struct WeightClasses {
    members: Vec<Vec<usize>>,
    sums: Vec<usize>,
    weight: Vec<usize>, // of each slot
    probes: usize,
}

fn bits(weight: usize) -> usize {
    (usize::BITS - weight.leading_zeros()) as usize
}

impl WeightClasses {
    fn join(&mut self, slot: usize, weight: usize) {
        self.weight[slot] = weight;
        if weight > 0 {
            self.members[bits(weight) - 1].push(slot);
            self.sums[bits(weight) - 1] += weight;
        }
    }

    fn pop(&mut self, probe: &mut Stream) -> usize {
        let mut drawn = probe.below(self.sums.iter().sum());
        let mut j = self.sums.len() - 1;
        while drawn >= self.sums[j] {
            drawn -= self.sums[j];
            j -= 1;
        }
        let bound = 2 << j;
        loop {
            let drawn = probe.below(self.members[j].len() * bound);
            self.probes += 1;
            let slot = self.members[j][drawn / bound];
            if drawn % bound < self.weight[slot] {
                self.sums[j] -= self.weight[slot];
                return self.members[j].swap_remove(drawn / bound);
            }
        }
    }
}

fn bucket(graph: &Graph, walk: &Walk, keys: [u64; 2]) -> NodeSample {
    let [mut main, mut probe] = keys.map(Stream::new);
    let mut front = main.pick_without_replacement(graph.nodes(), walk.m);
    let mut sample = NodeSample::new(&front);
    let count = bits(heaviest(graph, walk));
    let mut classes = WeightClasses {
        members: vec![vec![]; count],
        sums: vec![0; count],
        weight: vec![0; walk.m],
        probes: 0,
    };
    for (slot, &v) in front.iter().enumerate() {
        classes.join(slot, walk.weight(graph, v));
    }
    for _ in walk.m..walk.n {
        if classes.sums.iter().all(|&sum| sum == 0) {
            break;
        }
        let slot = classes.pop(&mut probe);
        let u = front[slot];
        front[slot] = graph.random_neighbour(u, &mut main);
        classes.join(slot, walk.weight(graph, front[slot]));
        sample.step(u, front[slot], walk.joins(u, front[slot]));
    }
    sample.counters.probes = classes.probes;
    sample.counters.rounds = sample.popped.len();
    sample.counted(graph, &main)
}

fn heaviest(graph: &Graph, walk: &Walk) -> usize {
    (0..graph.nodes()).map(|v| walk.weight(graph, v)).max().unwrap_or(0)
}

// ---- Other samplers ----

fn edge(graph: &Graph, main: u64, b: usize, is_direct: bool) -> NodeSample {
    let (mut main, mut sample) = (Stream::new(main), NodeSample::default());
    if graph.indices.is_empty() {
        return sample;
    }
    let edges = if is_direct { direct(graph, &mut main, b) } else { alias(graph, &mut main, b) };
    for (u, v) in edges {
        sample.nodes.insert(u);
        sample.step(u, v, v);
    }
    sample.counted(graph, &main)
}

/// Draw edges by a node that has neighbours, and one of them.
fn direct(graph: &Graph, main: &mut Stream, b: usize) -> Vec<(usize, usize)> {
    let nodes: Vec<_> = (0..graph.nodes()).filter(|&v| graph.degree(v) > 0).collect();
    let draw = |_| {
        let u = nodes[main.below(nodes.len())];
        (u, graph.random_neighbour(u, main))
    };
    (0..b).map(draw).collect()
}

/// Draw edges from a table of all.
fn alias(graph: &Graph, main: &mut Stream, b: usize) -> Vec<(usize, usize)> {
    let upper = |u: usize| graph.near(u).iter().filter(move |&&v| u <= v).map(move |&v| (u, v));
    let edges: Vec<_> = (0..graph.nodes()).flat_map(upper).collect();
    let share = |v: usize| 1.0 / graph.degree(v) as f64;
    let weight = |&(u, v): &(usize, usize)| share(u) + if u < v { share(v) } else { 0.0 };
    let table = alias_build(&edges.iter().map(weight).collect::<Vec<_>>());
    (0..b).map(|_| edges[table.draw(main)]).collect()
}

/// Walk from each of m roots, from root i so many steps.
fn walks(graph: &Graph, main: u64, m: usize, steps: impl Fn(usize) -> usize) -> NodeSample {
    let mut main = Stream::new(main);
    let roots = main.pick_without_replacement(graph.nodes(), m);
    let mut sample = NodeSample::new(&roots);
    for (i, &root) in roots.iter().enumerate() {
        let mut u = root;
        let steps = if graph.degree(root) > 0 { steps(i) } else { 0 };
        for _ in 0..steps {
            let v = graph.random_neighbour(u, &mut main);
            sample.step(u, v, v);
            u = v;
        }
    }
    sample.counted(graph, &main)
}

fn random_walk(graph: &Graph, main: u64, r: usize, h: usize) -> NodeSample {
    walks(graph, main, r, |_| h)
}

fn multiple_walks(graph: &Graph, main: u64, m: usize, n: usize) -> NodeSample {
    let (each, extra) = ((n - m) / m, (n - m) % m);
    walks(graph, main, m, |i| each + usize::from(i < extra))
}

/// A list of nodes from which the last takes the place of a removed one.
struct Unburned {
    nodes: Vec<usize>,
    place: Vec<usize>,
}

impl Unburned {
    fn remove(&mut self, v: usize) {
        let place = self.place[v];
        self.nodes.swap_remove(place);
        if let Some(&last) = self.nodes.get(place) {
            self.place[last] = place;
        }
    }
}

fn forest_fire(graph: &Graph, main: u64, n: usize, p_f: f64) -> NodeSample {
    let (mut main, n) = (Stream::new(main), n.min(graph.nodes()));
    let all: Vec<usize> = (0..graph.nodes()).collect();
    let mut unburned = Unburned { nodes: all.clone(), place: all };
    let mut sample = NodeSample::default();
    while sample.nodes.len() < n {
        let start = unburned.nodes[main.below(unburned.nodes.len())];
        unburned.remove(start);
        sample.nodes.insert(start);
        let mut queue = VecDeque::new();
        queue.push_back(start);
        while sample.nodes.len() < n {
            let Some(u) = queue.pop_front() else { break };
            let near = graph.near(u).iter().copied();
            let near: Vec<_> = near.filter(|v| !sample.nodes.contains(v)).collect();
            let mut k = 0;
            while k < near.len() && main.uniform() < p_f {
                k += 1;
            }
            let k = k.min(n - sample.nodes.len());
            for i in main.pick_without_replacement(near.len(), k) {
                unburned.remove(near[i]);
                sample.step(u, near[i], near[i]);
                queue.push_back(near[i]);
            }
        }
    }
    sample.counted(graph, &main)
}

/// What `sample_many` is given beside the graph.
struct Numbered {
    sampler: Sampler,
    clip: Option<usize>,
    seed: u64,
    domain: u64,
    first: u64,
    count: u64,
}

fn sample_many(graph: &Graph, given: &Numbered) -> Vec<Numbers> {
    (0..given.count).map(|i| sample_one(graph, given, given.first + i)).collect()
}

fn sample_one(graph: &Graph, given: &Numbered, q: u64) -> Numbers {
    let keys = [0, 1].map(|stream| key(&[given.seed, given.domain, q, stream]));
    let NodeSample { nodes, counters, .. } = (given.sampler)(graph, keys, None);
    let mut nodes: Vec<usize> = nodes.into_iter().collect();
    if let Some(unit) = given.clip {
        nodes = clip_nodes(&nodes, unit, keys[0], counters.draws as u64);
    }
    subgraph(graph, nodes, counters)
}

fn clip_nodes(nodes: &[usize], unit: usize, k: u64, c: u64) -> Vec<usize> {
    let over = if nodes.len() < unit { 0 } else { nodes.len() % unit };
    let mut stays = vec![true; nodes.len()];
    for i in pick_without_replacement(k, c, nodes.len(), over) {
        stays[i] = false;
    }
    nodes.iter().zip(stays).filter(|pair| pair.1).map(|pair| *pair.0).collect()
}

// ---- Results ----

enum Numbers {
    Count(usize),
    Word(u64),
    Real(f64),
    Words(Vec<u64>),
    Integers(Vec<usize>),
    Reals(Vec<f64>),
    Ids(Vec<usize>),
    Network(Graph),
    Named(Vec<(&'static str, Numbers)>),
    List(Vec<Numbers>),
    Null,
}
use Numbers::{Count, Ids, Integers, List, Named, Network, Null, Real, Reals, Word, Words};

fn count(counters: Counters) -> Numbers {
    Named(vec![
        ("pops", Count(counters.pops)),
        ("probes", Count(counters.probes)),
        ("rounds", Count(counters.rounds)),
        ("cleanups", Count(counters.cleanups)),
        ("moved", Count(counters.moved)),
        ("truncated", Count(counters.truncated)),
        ("popped_degree_sum", Count(counters.popped_degree_sum)),
        ("added_degree_sum", Count(counters.added_degree_sum)),
        ("capacity", Count(counters.capacity)),
        ("draws", Count(counters.draws)),
    ])
}

fn node_sample(sample: NodeSample) -> Numbers {
    Named(vec![
        ("nodes", Ids(sample.nodes.into_iter().collect())),
        ("popped", Ids(sample.popped)),
        ("pushed", Ids(sample.pushed)),
        ("counters", count(sample.counters)),
    ])
}

fn subgraph(graph: &Graph, nodes: Vec<usize>, counters: Counters) -> Numbers {
    let (induced, edge_ids) = induced_subgraph(graph, &nodes);
    Named(vec![
        ("nodes", Ids(nodes)),
        ("edge_ids", Integers(edge_ids)),
        ("transpose_perm", Ids(transpose_perm(&induced))),
        ("graph", Network(induced)),
        ("counters", count(counters)),
    ])
}

fn transposed(block: &Block) -> Numbers {
    let (Block { start, end, indices, n_src }, perm) = transpose_block(block);
    let block = vec![
        ("start", Integers(start)),
        ("end", Integers(end)),
        ("indices", Ids(indices)),
        ("n_src", Count(n_src)),
        ("edge_ids", Null),
    ];
    List(vec![Named(block), Integers(perm)])
}

fn table(weights: &[f64]) -> Numbers {
    let AliasTable { prob, alias } = alias_build(weights);
    Named(vec![("prob", Reals(prob)), ("alias", Integers(alias))])
}

// ---- Arguments ----

/// What computes a result, and the shape that it has, unless it is a number or a list.
struct Kernel<'a> {
    compute: Box<dyn Fn(States) -> Numbers + 'a>,
    shape: Option<&'a str>,
}

fn computed<'a>(compute: impl Fn() -> Numbers + 'a) -> Kernel<'a> {
    Kernel { compute: Box::new(move |_| compute()), shape: None }
}

/// Return what computes a function of a counter, or of each of an array of them.
fn each<'a, T: 'a>(
    counters: &'a str,
    number: fn(T) -> Numbers,
    numbers: fn(Vec<T>) -> Numbers,
    draw: impl Fn(u64) -> T + 'a,
) -> Result<Kernel<'a>, Refused> {
    if !counters.starts_with('{') {
        let counter = word(counters)?;
        return Ok(computed(move || number(draw(counter))));
    }
    if text(need(counters, "dtype")?) != Some("uint64") {
        return Err(Type);
    }
    let given = words(need(counters, "data")?)?;
    let compute = move |_: States| numbers(given.iter().map(|&c| draw(c)).collect());
    Ok(Kernel { compute: Box::new(compute), shape: Some(need(counters, "shape")?) })
}

fn key_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let given = words(need(args, "parts")?)?;
    Ok(computed(move || Word(key(&given))))
}

fn uniform_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let k = word(need(args, "k")?)?;
    each(need(args, "c")?, Real, Reals, move |c| uniform(k, c))
}

fn below_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (k, n) = (word(need(args, "k")?)?, size(need(args, "n")?, 1, (1 << 53) - 1)?);
    each(need(args, "c")?, Count, Integers, move |c| below(k, c, n))
}

fn pick_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (k, c) = (word(need(args, "k")?)?, word(need(args, "c")?)?);
    let total = size(need(args, "N")?, 0, INT32)?;
    let m = size(need(args, "m")?, 0, total)?;
    Ok(computed(move || Ids(pick_without_replacement(k, c, total, m))))
}

fn permutation_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (key, n) = (word(need(args, "key")?)?, size(need(args, "n")?, 0, INT32)?);
    Ok(computed(move || Ids(permutation(key, n))))
}

fn floyd_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let (key, n) = (word(need(args, "key")?)?, size(need(args, "n")?, 0, INT32)?);
    let f = size(need(args, "f")?, 0, n)?;
    Ok(computed(move || Ids(floyd(key, n, f))))
}

fn alias_build_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let list = entries(need(args, "weights")?, &["float32", "float64"])?;
    let weights = list.into_iter().map(real).collect::<Result<Vec<_>, _>>()?;
    let is_right = |weight: &f64| *weight >= 0.0 && weight.is_finite();
    let total = sum(&weights);
    if !weights.iter().all(is_right) || total == 0.0 || total.is_infinite() {
        return Err(Value); // also if there are none
    }
    Ok(computed(move || table(&weights)))
}

fn transpose_perm_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let graph = Graph::read(need(args, "graph")?)?;
    Ok(computed(move || Ids(transpose_perm(&graph))))
}

fn induced_subgraph_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let graph = Graph::read(need(args, "graph")?)?;
    let nodes = positions(need(args, "nodes")?)?;
    let ascends = nodes.windows(2).all(|pair| pair[0] < pair[1]);
    if !ascends || nodes.last().is_some_and(|&v| v >= graph.nodes()) {
        return Err(Value);
    }
    Ok(computed(move || subgraph(&graph, nodes.clone(), Counters::default())))
}

fn transpose_block_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let fields = fields(need(args, "block")?, "Block")?;
    let list = |name| positions(need(fields, name)?);
    let (start, end, indices) = (list("start")?, list("end")?, list("indices")?);
    let n_src = size(need(fields, "n_src")?, 0, INT32)?;
    let block = Block { start, end, indices, n_src };
    Ok(computed(move || transposed(&block)))
}

fn walk_of(graph: &Graph, args: &str) -> Result<Walk, Refused> {
    let m = size(need(args, "m")?, 1, graph.nodes())?;
    let n = size(need(args, "n")?, m, INT32)?;
    let deg_cap = match need(args, "deg_cap")? {
        "null" => INT32,
        cap => size(cap, 1, INT32)?,
    };
    let include = need(args, "include")?;
    Ok(Walk { m, n, deg_cap, is_pushed: is_first(include, "pushed", "popped")? })
}

fn plan_of(graph: &Graph, args: &str) -> Result<Plan, Refused> {
    let (walk, eta) = (walk_of(graph, args)?, real(need(args, "eta")?)?);
    let weights: usize = (0..graph.nodes()).map(|v| walk.weight(graph, v)).sum();
    let length = eta * walk.m as f64 * (weights as f64 / graph.nodes() as f64);
    let is_right = eta > 1.0 && eta.is_finite() && length < (1u64 << 32) as f64;
    if !is_right {
        return Err(Value);
    }
    Ok(Plan {
        walk,
        capacity: length.ceil() as usize,
        lanes: size(need(args, "lanes")?, 1, INT32)?,
        is_everywhere: is_first(need(args, "probe_range")?, "capacity", "used")?,
        is_truncated: is_first(need(args, "overflow")?, "truncate", "grow")?,
    })
}

fn frontier_of(graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    let walk = walk_of(graph, args)?;
    Ok(Box::new(move |graph, keys, states| frontier(graph, &walk, keys, states)))
}

fn pin_tile_of(graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    let plan = plan_of(graph, args)?;
    Ok(Box::new(move |graph, keys, states| pin_tile(graph, &plan, keys, states)))
}

fn dashboard_of(graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    let plan = plan_of(graph, args)?;
    Ok(Box::new(move |graph, keys, states| dashboard(graph, &plan, keys, states)))
}

fn bucket_of(graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    let walk = walk_of(graph, args)?;
    if walk.m << bits(heaviest(graph, &walk)) >= 1 << 53 {
        return Err(Value);
    }
    Ok(Box::new(move |graph, keys, _| bucket(graph, &walk, keys)))
}

fn edge_of(args: &str) -> Result<Sampler, Refused> {
    let b = size(need(args, "b")?, 1, INT32)?;
    let is_direct = is_first(need(args, "method")?, "direct", "alias")?;
    Ok(Box::new(move |graph, [main, _], _| edge(graph, main, b, is_direct)))
}

fn random_walk_of(graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    let r = size(need(args, "r")?, 1, graph.nodes())?;
    let h = size(need(args, "h")?, 0, INT32 / r - 1)?;
    Ok(Box::new(move |graph, [main, _], _| random_walk(graph, main, r, h)))
}

fn multiple_walks_of(graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    let m = size(need(args, "m")?, 1, graph.nodes())?;
    let n = size(need(args, "n")?, m, INT32)?;
    Ok(Box::new(move |graph, [main, _], _| multiple_walks(graph, main, m, n)))
}

fn forest_fire_of(args: &str) -> Result<Sampler, Refused> {
    let n = size(need(args, "n")?, 1, INT32)?;
    let p_f = real(need(args, "p_f")?)?;
    if !(0.0..=1.0).contains(&p_f) {
        return Err(Value);
    }
    Ok(Box::new(move |graph, [main, _], _| forest_fire(graph, main, n, p_f)))
}

fn sampler_of(name: &str, graph: &Graph, args: &str) -> Result<Sampler, Refused> {
    match name {
        "frontier" => frontier_of(graph, args),
        "pin_tile" => pin_tile_of(graph, args),
        "dashboard" => dashboard_of(graph, args),
        "bucket" => bucket_of(graph, args),
        "edge" => edge_of(args),
        "random_walk" => random_walk_of(graph, args),
        "multiple_walks" => multiple_walks_of(graph, args),
        "forest_fire" => forest_fire_of(args),
        _ => Err(Value), // the page does not say what an unknown name is
    }
}

/// Read a kernel that is a sampler.
fn sample_of<'a>(name: &str, args: &'a str) -> Result<Kernel<'a>, Refused> {
    let graph = Graph::read(need(args, "graph")?)?;
    let keys = [need(args, "main")?, find(args, "probe")?.unwrap_or("0")]; // some have no probe
    let keys = [word(keys[0])?, word(keys[1])?];
    let sampler = sampler_of(name, &graph, args)?;
    let compute = move |states: States| node_sample(sampler(&graph, keys, states));
    Ok(Kernel { compute: Box::new(compute), shape: None })
}

fn sample_many_of(args: &str) -> Result<Kernel<'_>, Refused> {
    let graph = Graph::read(need(args, "graph")?)?;
    let fields = fields(need(args, "sampler")?, "Sampler")?;
    let seed = word(need(args, "rng")?)?;
    let first = integer(need(args, "first")?, 0, (1 << 63) - 1)?;
    let count = integer(need(args, "count")?, 0, INT32 as u64)?;
    let domain = integer(need(args, "domain")?, 0, 1)?;
    let clip = match need(fields, "clip")? {
        "null" => None,
        unit => Some(size(unit, 1, INT32)?), // the page names no range
    };
    if count == 0 {
        return Ok(computed(|| List(vec![])));
    }
    let name = text(need(fields, "name")?).ok_or(Type)?;
    let sampler = sampler_of(name, &graph, need(need(fields, "options")?, "fields")?)?;
    let given = Numbered { sampler, clip, seed, domain, first, count };
    Ok(computed(move || List(sample_many(&graph, &given))))
}

fn kernel<'a>(name: &str, args: &'a str) -> Result<Option<Kernel<'a>>, Refused> {
    Ok(Some(match name {
        "mix" => each(need(args, "x")?, Word, Words, mix)?,
        "key" => key_of(args)?,
        "uniform" => uniform_of(args)?,
        "below" => below_of(args)?,
        "pick_without_replacement" => pick_of(args)?,
        "permutation" => permutation_of(args)?,
        "floyd" => floyd_of(args)?,
        "alias_build" => alias_build_of(args)?,
        "transpose_perm" => transpose_perm_of(args)?,
        "induced_subgraph" => induced_subgraph_of(args)?,
        "transpose_block" => transpose_block_of(args)?,
        "sample_many" => sample_many_of(args)?,
        "frontier" | "pin_tile" | "dashboard" | "bucket" => sample_of(name, args)?,
        "edge" | "random_walk" | "multiple_walks" | "forest_fire" => sample_of(name, args)?,
        _ => return Ok(None),
    }))
}

// ---- Answers ----

fn joined<T: ToString>(list: &[T]) -> String {
    list.iter().map(T::to_string).collect::<Vec<_>>().join(",")
}

fn listed<T, P: ToString>(list: &[T], part: impl Fn(&T) -> P) -> String {
    joined(&list.iter().map(part).collect::<Vec<_>>())
}

fn array<T: ToString>(dtype: &str, list: &[T], shape: Option<&str>) -> String {
    let flat = format!("[{}]", list.len());
    let (shape, data) = (shape.unwrap_or(&flat), joined(list));
    format!("{{\"dtype\":\"{dtype}\",\"shape\":{shape},\"data\":[{data}]}}")
}

fn written(numbers: &Numbers, shape: Option<&str>) -> String {
    match numbers {
        Count(number) => number.to_string(),
        Word(number) => number.to_string(),
        Real(number) => number.to_string(),
        Words(list) => array("uint64", list, shape),
        Integers(list) => array("int64", list, shape),
        Reals(list) => array("float64", list, shape),
        Ids(list) => array("int32", list, shape),
        Network(Graph { indptr, indices }) => {
            let (indptr, indices) = (joined(indptr), joined(indices));
            format!("{{\"graph\":{{\"indptr\":[{indptr}],\"indices\":[{indices}]}}}}")
        }
        Named(parts) => {
            let part = |(name, x): &(&str, Numbers)| format!("\"{name}\":{}", written(x, None));
            format!("{{\"fields\":{{{}}}}}", listed(parts, part))
        }
        List(list) => format!("[{}]", listed(list, |x| written(x, None))),
        Null => "null".to_string(),
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
        return Ok("\"name\":\"samplers.rs\",\"version\":\"1\"".to_string());
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
