//! A program that is asked through its standard input and output.

use crate::json::{object, Json};
use crate::Implementation;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{channel, Receiver};
use std::time::Duration;

const PROTOCOL: &str = "minibatch-gnn-conformance/1";

struct Running {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    asked: usize,
    has_ids: bool,
}

pub struct Program {
    words: Vec<String>,
    timeout: Duration,
    running: Option<Running>,
    pub name: String,
}

impl Program {
    /// Start a program; Err says why there is no answer to the greeting.
    pub fn start(words: Vec<String>, timeout: Duration) -> Result<Program, String> {
        let mut program = Program {
            words,
            timeout,
            running: None,
            name: String::new(),
        };
        program.greet()?;
        Ok(program)
    }

    fn greet(&mut self) -> Result<(), String> {
        let mut command = Command::new(&self.words[0]);
        command
            .args(&self.words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .map_err(|error| format!("{}: {error}", self.words[0]))?;
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("no pipes".to_string());
        };
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n').map_while(Result::ok) {
                if sender
                    .send(String::from_utf8_lossy(&line).into_owned())
                    .is_err()
                {
                    break;
                }
            }
        });
        self.running = Some(Running {
            child,
            input,
            lines,
            asked: 0,
            has_ids: true,
        });
        let hello = self.send(vec![("hello".to_string(), PROTOCOL.into())], true)?;
        if let Some(fault) = hello.get("fault") {
            return Err(format!("the program cannot answer: {fault}"));
        }
        let said = |name| {
            hello
                .get(name)
                .and_then(Json::text)
                .unwrap_or("unknown")
                .to_string()
        };
        self.name = format!("{} {}", said("name"), said("version"));
        Ok(())
    }

    fn send(&mut self, members: Vec<(String, Json)>, is_greeting: bool) -> Result<Json, String> {
        let running = self.running.as_mut().ok_or("not running")?;
        let id = Json::Number(running.asked.to_string());
        running.asked += 1;
        let question = Json::Object([vec![("id".to_string(), id.clone())], members].concat());
        let line = format!("{question}\n");
        let sent = running
            .input
            .write_all(line.as_bytes())
            .and_then(|()| running.input.flush());
        let answer = sent
            .map_err(|error| format!("the program ended: {error}"))
            .and_then(|()| {
                let line = running.lines.recv_timeout(self.timeout);
                let line = line.map_err(|error| format!("no answer: {error}"))?;
                Json::parse(line.trim())
            });
        let answer = answer?;
        if answer.members().is_none() {
            return Err(format!("no object: {answer}"));
        }
        if is_greeting {
            running.has_ids = answer.get("id").is_some();
        }
        if running.has_ids && answer.get("id") != Some(&id) {
            return Err(format!("a line that was not asked for: {answer}"));
        }
        Ok(answer)
    }

    fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            let _ = running.child.kill();
            let _ = running.child.wait();
        }
    }
}

impl Implementation for Program {
    fn answer(&mut self, kernel: &str, args: &Json, writes: &Json) -> Result<Json, String> {
        if self.running.is_none() {
            self.greet()?;
        }
        let Json::Object(mut members) = object([("call", kernel.into()), ("args", args.clone())])
        else {
            return Err("no question".to_string());
        };
        if writes.list().is_some_and(|names| !names.is_empty()) {
            members.push(("writes".to_string(), writes.clone()));
        }
        let answer = self.send(members, false);
        if answer.is_err() {
            self.stop();
        }
        answer
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.stop();
    }
}
