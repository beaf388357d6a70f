//! Checks an implementation against the test vectors beside this crate.

pub mod compare;
pub mod json;
pub mod mine;
pub mod program;

use compare::{difference, short, state_difference, Rule};
use json::Json;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Whoever is asked: a type of your own, or a `program::Program`.
pub trait Implementation {
    /// Return the answer to a question, in the form of the protocol; Err: there is none.
    fn answer(&mut self, kernel: &str, args: &Json, writes: &Json) -> Result<Json, String>;
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    Pass,
    Differs,
    Skip,
    Lost,
    NotRun,
}
use Verdict::{Differs, Lost, NotRun, Pass, Skip};

pub struct Outcome {
    pub kernel: String,
    pub case: String,
    pub verdict: Verdict,
    pub said: String,
    pub is_refused: bool,
}

pub struct Requirement {
    pub name: String,
    pub says: String,
    pub cases: Vec<String>,
}

/// The fixtures of a folder.
pub struct Kit {
    pub version: String,
    pub files: Vec<Json>,
    pub levels: Vec<(String, Vec<String>)>,
    specification: Json,
}

const MOST_LOST: usize = 3;
const SHOWN: usize = 2;

fn texts(list: Option<&Json>) -> Vec<String> {
    let items = list.and_then(Json::list).unwrap_or(&[]);
    items
        .iter()
        .filter_map(Json::text)
        .map(str::to_string)
        .collect()
}

fn said(value: &Json, name: &str) -> String {
    value
        .get(name)
        .and_then(Json::text)
        .unwrap_or("")
        .to_string()
}

impl Kit {
    /// Read the fixtures of the folder around this crate.
    pub fn here() -> Result<Kit, String> {
        Kit::read(&PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(".."))
    }

    pub fn read(folder: &Path) -> Result<Kit, String> {
        let load = |name: &str| -> Result<Json, String> {
            let path = folder.join(name);
            let text =
                std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            Json::parse(&text).map_err(|e| format!("{}: {e}", path.display()))
        };
        let levels = load("levels.json")?;
        let levels = levels.members().unwrap_or(&[]).iter();
        let names = texts(Some(&load("files.json")?));
        let files: Result<Vec<_>, _> = names.iter().map(|name| load(name)).collect();
        Ok(Kit {
            version: said(&load("index.json")?, "version"),
            files: files?,
            levels: levels
                .map(|(name, kernels)| (name.clone(), texts(Some(kernels))))
                .collect(),
            specification: load("requirements.json")?,
        })
    }

    fn part(&self, kernel: &str, name: &str) -> &[Json] {
        let kernel = self
            .specification
            .get("kernels")
            .and_then(|all| all.get(kernel));
        kernel
            .and_then(|kernel| kernel.get(name))
            .and_then(Json::list)
            .unwrap_or(&[])
    }

    /// Return the requirements of a kernel.
    pub fn requirements(&self, kernel: &str) -> Vec<Requirement> {
        let rows = self.part(kernel, "requirements").iter();
        let made = rows.map(|row| Requirement {
            name: said(row, "name"),
            says: said(row, "says"),
            cases: texts(row.get("cases")),
        });
        made.collect()
    }

    /// Return the requirements that a case checks in words, the most special one first.
    pub fn words(&self, kernel: &str, case: &str) -> Vec<String> {
        let is_about = |cases: &[String]| cases.iter().any(|id| id == case);
        let rows = self.part(kernel, "refusals").iter();
        let why: String = rows
            .filter(|row| is_about(&texts(row.get("cases"))))
            .map(|row| format!(" Here {}.", said(row, "when")))
            .collect();
        let mut found = self.requirements(kernel);
        found.retain(|one| is_about(&one.cases));
        found.sort_by_key(|one| one.cases.len());
        found
            .iter()
            .map(|one| format!("{}: {}{why}", one.name, one.says))
            .collect()
    }

    /// Ask every case of the kernels that `wanted` accepts.
    pub fn run(
        &self,
        asked: &mut dyn Implementation,
        wanted: &dyn Fn(&str) -> bool,
    ) -> Vec<Outcome> {
        let files = self
            .files
            .iter()
            .filter(|file| wanted(&said(file, "function")));
        files.flat_map(|file| ask_all(asked, file)).collect()
    }

    /// Return the names of the requirements of which a case failed.
    pub fn missed(&self, outcomes: &[Outcome]) -> Vec<String> {
        let mut kernels: Vec<&str> = outcomes.iter().map(|one| one.kernel.as_str()).collect();
        kernels.dedup();
        let failed = |kernel: &str, case: &String| {
            let is_bad = |one: &Outcome| matches!(one.verdict, Differs | Lost);
            outcomes
                .iter()
                .any(|one| one.kernel == kernel && one.case == *case && is_bad(one))
        };
        let own = |kernel: &&str| {
            let kernel = kernel.to_string();
            let found = self.requirements(&kernel).into_iter();
            found.filter(move |one| one.cases.iter().any(|case| failed(&kernel, case)))
        };
        kernels.iter().flat_map(own).map(|one| one.name).collect()
    }

    /// Return the levels whose kernels all have every answer; a refusal may be skipped.
    pub fn levels_reached(&self, outcomes: &[Outcome]) -> Vec<&str> {
        let is_good =
            |one: &Outcome| one.verdict == Pass || (one.is_refused && one.verdict == Skip);
        let mut complete: HashMap<&str, bool> = HashMap::new();
        for one in outcomes {
            *complete.entry(&one.kernel).or_insert(true) &= is_good(one);
        }
        let has = |kernel: &String| complete.get(kernel.as_str()) == Some(&true);
        let reached = self
            .levels
            .iter()
            .filter(|(_, kernels)| kernels.iter().all(has));
        reached.map(|(level, _)| level.as_str()).collect()
    }

    /// Return what was found as lines of text: first differences, and the requirements behind them.
    pub fn told(&self, outcomes: &[Outcome]) -> Vec<String> {
        let mut lines = Vec::new();
        for own in outcomes.chunk_by_kernel() {
            let kernel = &own[0].kernel;
            if own.iter().all(|one| one.verdict == Skip) {
                continue;
            }
            let passed = own.iter().filter(|one| one.verdict == Pass).count();
            let bad = own.iter().find(|one| matches!(one.verdict, Differs | Lost));
            let word = match bad.map(|one| one.verdict) {
                None => "conforms",
                Some(Lost) => "lost",
                Some(_) => "differs",
            };
            lines.push(format!("{kernel} {passed}/{} {word}", own.len()));
            if let Some(bad) = bad {
                lines.push(format!("  {}: {}", bad.case, bad.said));
                let words = self.words(kernel, &bad.case).into_iter().take(SHOWN);
                lines.extend(words.map(|line| format!("    {line}")));
            }
        }
        let reached = self.levels_reached(outcomes).join(", ");
        let reached = if reached.is_empty() {
            "none".to_string()
        } else {
            reached
        };
        lines.push(format!("levels reached: {reached}"));
        let missed = self.missed(outcomes).join(", ");
        if !missed.is_empty() {
            lines.push(format!("requirements missed: {missed}"));
        }
        lines
    }
}

trait ByKernel {
    fn chunk_by_kernel(&self) -> Vec<&[Outcome]>;
}

impl ByKernel for [Outcome] {
    fn chunk_by_kernel(&self) -> Vec<&[Outcome]> {
        let (mut found, mut begin) = (Vec::new(), 0);
        for i in 1..=self.len() {
            if i == self.len() || self[i].kernel != self[begin].kernel {
                found.push(&self[begin..i]);
                begin = i;
            }
        }
        found
    }
}

/// Say whether nothing differs, and something passed.
pub fn is_fine(outcomes: &[Outcome]) -> bool {
    let good = outcomes
        .iter()
        .all(|one| matches!(one.verdict, Pass | Skip));
    good && outcomes.iter().any(|one| one.verdict == Pass)
}

fn ask_all(asked: &mut dyn Implementation, file: &Json) -> Vec<Outcome> {
    let (kernel, rule) = (
        said(file, "function"),
        Rule::of(file.get("compare").unwrap_or(&Json::Null)),
    );
    let writes = file.get("writes").unwrap_or(&Json::Null);
    let mut lost = 0;
    let mut found = Vec::new();
    for case in file.get("cases").and_then(Json::list).unwrap_or(&[]) {
        let (verdict, words) = if lost == MOST_LOST {
            (NotRun, String::new())
        } else {
            match asked.answer(&kernel, case.get("args").unwrap_or(&Json::Null), writes) {
                Ok(answer) => judge(case, &answer, &rule),
                Err(reason) => {
                    lost += 1;
                    (Lost, reason)
                }
            }
        };
        let is_refused = case.get("error").is_some();
        let case = said(case, "id");
        found.push(Outcome {
            kernel: kernel.clone(),
            case,
            verdict,
            said: words,
            is_refused,
        });
    }
    found
}

/// Return the verdict on an answer, and the first difference.
pub fn judge(case: &Json, answer: &Json, rule: &Rule) -> (Verdict, String) {
    if let Some(why) = answer.get("skip") {
        return (Skip, short(why));
    }
    let error = case.get("error");
    let wanted = error.map_or("want a result".to_string(), |kind| {
        format!("want error '{}'", short(kind))
    });
    if let Some(fault) = answer.get("fault") {
        return (Differs, format!("{wanted}, got a fault: {}", short(fault)));
    }
    if error.is_some() || answer.get("error").is_some() {
        if error == answer.get("error") {
            return (Pass, String::new());
        }
        let got = answer.get("error").map_or("a result".to_string(), |kind| {
            format!("error '{}'", short(kind))
        });
        return (Differs, format!("{wanted}, got {got}"));
    }
    if answer.get("result").is_none() {
        return (Differs, format!("{wanted}, got {}", short(answer)));
    }
    let given = answer.get("states").filter(|states| **states != Json::Null);
    let found = match (case.get("states").and_then(Json::list), given) {
        (Some(want), Some(got)) => state_difference(want, got, rule),
        _ => None,
    };
    let result = || difference(case.get("result")?, answer.get("result"), rule, "result");
    let changed = || {
        let members = case.get("changed")?.members()?;
        let given = answer.get("changed");
        members.iter().find_map(|(name, part)| {
            difference(
                part,
                given.and_then(|all| all.get(name)),
                rule,
                &format!("changed.{name}"),
            )
        })
    };
    match found.or_else(result).or_else(changed) {
        Some(words) => (Differs, words),
        None => (Pass, String::new()),
    }
}
