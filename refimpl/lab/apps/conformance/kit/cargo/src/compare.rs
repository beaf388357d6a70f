//! What differs between a right answer and a program's.

use crate::json::{Json, Number};

/// The rule of a file: exact, or close within atol + rtol |want|.
pub struct Rule {
    pub is_close: bool,
    pub atol: f64,
    pub rtol: f64,
}

impl Rule {
    pub fn of(compare: &Json) -> Rule {
        let size = |name| {
            compare
                .get(name)
                .and_then(Json::number)
                .map_or(0.0, Number::real)
        };
        let is_close = compare.get("rule").and_then(Json::text) == Some("close");
        Rule {
            is_close,
            atol: size("atol"),
            rtol: size("rtol"),
        }
    }
}

const SHORT: usize = 60;

pub fn short(value: &Json) -> String {
    let said = value
        .text()
        .map_or_else(|| value.to_string(), str::to_string);
    if said.chars().count() <= SHORT {
        return said;
    }
    said.chars().take(SHORT - 3).collect::<String>() + "..."
}

fn equal(want: Number, got: Number, rule: &Rule, is_float: bool) -> bool {
    let (a, b) = (want.real(), got.real());
    if a.is_nan() {
        return b.is_nan();
    }
    if rule.is_close && is_float && a.is_finite() && b.is_finite() {
        return (b - a).abs() <= rule.atol + rule.rtol * a.abs();
    }
    match (want, got) {
        (Number::Integer(x), Number::Integer(y)) => x == y,
        (Number::Integer(x), Number::Real(y)) | (Number::Real(y), Number::Integer(x)) => {
            y.fract() == 0.0 && y.abs() < 1e38 && y as i128 == x
        }
        (Number::Real(x), Number::Real(y)) => x == y,
    }
}

/// Return where and how `got` differs from `want`, in words.
pub fn difference(want: &Json, got: Option<&Json>, rule: &Rule, at: &str) -> Option<String> {
    let Some(got) = got else {
        return Some(format!("{at}: missing"));
    };
    if want.get("data").is_some() {
        return array_difference(want, got, rule, at);
    }
    if let Json::List(items) = want {
        return list_difference(items, got, rule, at);
    }
    if let Json::Object(_) = want {
        return parts_difference(want, got, rule, at);
    }
    let same = match (want.number(), got.number()) {
        (Some(a), Some(b)) => equal(a, b, rule, matches!(a, Number::Real(_))),
        (None, None) => want == got,
        _ => false,
    };
    (!same).then(|| format!("{at}: want {}, got {}", short(want), short(got)))
}

fn parts_difference(want: &Json, got: &Json, rule: &Rule, at: &str) -> Option<String> {
    let inside = |value: &Json| value.get("graph").or(value.get("fields")).cloned();
    let wanted = inside(want)?;
    let named = want.get("type").and_then(Json::text);
    let kind = if want.get("graph").is_some() {
        Some("Graph")
    } else {
        named
    };
    if let (Some(kind), Some(said)) = (kind, got.get("type")) {
        if said.text() != Some(kind) {
            return Some(format!("{at}: want type {kind}, got {}", short(said)));
        }
    }
    let members = wanted.members()?;
    let Some(parts) = inside(got).filter(|parts| parts.members().is_some()) else {
        let names: Vec<_> = members.iter().map(|(name, _)| name.as_str()).collect();
        return Some(format!(
            "{at}: want {}, got {}",
            names.join(", "),
            short(got)
        ));
    };
    members
        .iter()
        .find_map(|(name, part)| difference(part, parts.get(name), rule, &format!("{at}.{name}")))
}

fn list_difference(want: &[Json], got: &Json, rule: &Rule, at: &str) -> Option<String> {
    let got = if got.get("shape").is_some() {
        got.get("data").unwrap_or(got)
    } else {
        got
    };
    let Some(items) = got.list() else {
        return Some(format!(
            "{at}: want a list of {}, got {}",
            want.len(),
            short(got)
        ));
    };
    let found = want
        .iter()
        .zip(items)
        .enumerate()
        .find_map(|(i, (a, b))| difference(a, Some(b), rule, &format!("{at}[{i}]")));
    let lengths = || format!("{at}: want {} entries, got {}", want.len(), items.len());
    found.or_else(|| (want.len() != items.len()).then(lengths))
}

fn sizes(shape: &Json) -> Option<Vec<usize>> {
    let size = |x: &Json| match x {
        Json::Text(_) => None,
        other => other
            .number()
            .map(Number::real)
            .filter(|x| x.fract() == 0.0 && *x >= 0.0),
    };
    shape
        .list()?
        .iter()
        .map(|x| size(x).map(|x| x as usize))
        .collect()
}

fn array_difference(want: &Json, got: &Json, rule: &Rule, at: &str) -> Option<String> {
    let dtype = want.get("dtype")?.text()?;
    let shape = sizes(want.get("shape")?)?;
    let right = want.get("data")?.list()?;
    let (data, found) = if let Some(data) = got.get("data").and_then(Json::list) {
        if let Some(said) = got.get("dtype").filter(|said| said.text() != Some(dtype)) {
            return Some(format!("{at}: want dtype {dtype}, got {}", short(said)));
        }
        let found = got.get("shape").map_or(Some(shape.clone()), sizes);
        (data.to_vec(), found)
    } else if got.list().is_some() || shape.is_empty() {
        flat(got)
    } else {
        return Some(format!(
            "{at}: want an array of {dtype}, shape {shape:?}, got {}",
            short(got)
        ));
    };
    let is_empty = data.is_empty() && shape.contains(&0);
    if found.as_ref() != Some(&shape) && !is_empty {
        let said = found.map_or("uneven lists".to_string(), |found| format!("{found:?}"));
        return Some(format!("{at}: want shape {shape:?}, got {said}"));
    }
    if data.len() != right.len() {
        return Some(format!(
            "{at}: want {} numbers, got {}",
            right.len(),
            data.len()
        ));
    }
    let single = |x: Number| {
        if dtype == "float32" {
            Number::Real(f64::from(x.real() as f32))
        } else {
            x
        }
    };
    let same = |a: &Json, b: &Json| match (a.number(), b.number()) {
        (Some(a), Some(b)) => equal(single(a), single(b), rule, dtype.starts_with("float")),
        _ => a == b,
    };
    let i = right.iter().zip(&data).position(|(a, b)| !same(a, b))?;
    let place = index(i, &shape);
    Some(format!(
        "{at}{place}: want {}, got {}",
        short(&right[i]),
        short(&data[i])
    ))
}

/// Return the numbers of a list of lists of equal length, and its shape.
fn flat(value: &Json) -> (Vec<Json>, Option<Vec<usize>>) {
    let Some(items) = value.list() else {
        return (vec![value.clone()], Some(Vec::new()));
    };
    let parts: Vec<_> = items.iter().map(flat).collect();
    let first = parts
        .first()
        .map_or(Some(Vec::new()), |(_, shape)| shape.clone());
    let is_even = parts.iter().all(|(_, shape)| *shape == first);
    let shape = first
        .filter(|_| is_even)
        .map(|rest| [vec![items.len()], rest].concat());
    (
        parts.into_iter().flat_map(|(data, _)| data).collect(),
        shape,
    )
}

fn index(mut i: usize, shape: &[usize]) -> String {
    let mut place = Vec::new();
    for size in shape.iter().rev() {
        place.insert(0, i % size);
        i /= size;
    }
    if place.is_empty() {
        String::new()
    } else {
        format!("{place:?}")
    }
}

/// Return the first step after which states differ, and how. A port may leave parts out.
pub fn state_difference(want: &[Json], got: &Json, rule: &Rule) -> Option<String> {
    let Some(steps) = got.list() else {
        return Some(format!(
            "states: want a list of {}, got {}",
            want.len(),
            short(got)
        ));
    };
    for (i, (a, b)) in want.iter().zip(steps).enumerate() {
        let Some(members) = b.members() else {
            return Some(format!("states[{i}]: want an object, got {}", short(b)));
        };
        if let Some((name, _)) = members.iter().find(|(name, _)| a.get(name).is_none()) {
            return Some(format!("states[{i}].{name}: no such part"));
        }
        for (name, part) in a.members()? {
            if let Some(given) = b.get(name) {
                let found = difference(part, Some(given), rule, &format!("states[{i}].{name}"));
                if found.is_some() {
                    return found;
                }
            }
        }
    }
    let counts = || format!("states: want {} steps, got {}", want.len(), steps.len());
    (want.len() != steps.len()).then(counts)
}
