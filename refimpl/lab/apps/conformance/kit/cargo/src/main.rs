//! Checks a program: `cargo run --release -- [--level LEVEL | --only KERNEL] PROGRAM [ARGUMENT ..]`.

use conformance::program::Program;
use conformance::{is_fine, Kit};
use std::process::ExitCode;
use std::time::Duration;

fn checked() -> Result<bool, String> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    let (mut level, mut only) = (None, None);
    while words.len() > 1 && words[0].starts_with("--") {
        match words[0].as_str() {
            "--level" => level = Some(words[1].clone()),
            "--only" => only = Some(words[1].clone()),
            other => return Err(format!("there is no option {other}")),
        }
        words.drain(..2);
    }
    if words.is_empty() {
        return Err("give the program to check".to_string());
    }
    let kit = Kit::here()?;
    let of_level = kit
        .levels
        .iter()
        .find(|(name, _)| Some(name) == level.as_ref());
    if level.is_some() && of_level.is_none() {
        return Err("there is no such level".to_string());
    }
    let kernels = of_level
        .map(|(_, kernels)| kernels.clone())
        .or(only.map(|name| vec![name]));
    let wanted = |name: &str| {
        kernels
            .as_ref()
            .map_or(true, |some| some.iter().any(|one| one == name))
    };
    let mut program = Program::start(words, Duration::from_secs(60))?;
    let outcomes = kit.run(&mut program, &wanted);
    for line in kit.told(&outcomes) {
        println!("{line}");
    }
    println!("{} by the vectors {}", program.name, kit.version);
    let is_reached = level.map_or(true, |name| {
        kit.levels_reached(&outcomes).contains(&name.as_str())
    });
    Ok(is_fine(&outcomes) && is_reached)
}

fn main() -> ExitCode {
    match checked() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(reason) => {
            eprintln!("{reason}");
            ExitCode::from(2)
        }
    }
}
