//! JSON whose numbers stay as they are written, since 2 and 2.0 differ and words have 64 bits.

use std::fmt;

#[derive(Clone, Debug, PartialEq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

/// A number that a value stands for: decimal strings are integers, "nan" and "inf" reals.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    Integer(i128),
    Real(f64),
}

impl Number {
    pub fn real(self) -> f64 {
        match self {
            Number::Integer(x) => x as f64,
            Number::Real(x) => x,
        }
    }
}

impl Json {
    pub fn parse(text: &str) -> Result<Json, String> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.space();
        if reader.at == text.len() {
            Ok(value)
        } else {
            Err(reader.fault())
        }
    }

    /// Return a member of an object.
    pub fn get(&self, name: &str) -> Option<&Json> {
        match self {
            Json::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, x)| x),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Json]> {
        if let Json::List(items) = self {
            Some(items)
        } else {
            None
        }
    }

    pub fn members(&self) -> Option<&[(String, Json)]> {
        if let Json::Object(members) = self {
            Some(members)
        } else {
            None
        }
    }

    pub fn text(&self) -> Option<&str> {
        if let Json::Text(text) = self {
            Some(text)
        } else {
            None
        }
    }

    pub fn number(&self) -> Option<Number> {
        let (said, is_written) = match self {
            Json::Bool(x) => return Some(Number::Integer(i128::from(*x))),
            Json::Number(said) => (said, true),
            Json::Text(said) => (said, false),
            _ => return None,
        };
        if let Ok(x) = said.parse::<i128>() {
            return if said.starts_with('+') {
                None
            } else {
                Some(Number::Integer(x))
            };
        }
        match said.as_str() {
            "nan" => Some(Number::Real(f64::NAN)),
            "inf" => Some(Number::Real(f64::INFINITY)),
            "-inf" => Some(Number::Real(f64::NEG_INFINITY)),
            _ if is_written => said.parse().ok().map(Number::Real),
            _ => None,
        }
    }
}

impl From<&str> for Json {
    fn from(text: &str) -> Json {
        Json::Text(text.to_string())
    }
}

pub fn object<const N: usize>(members: [(&str, Json); N]) -> Json {
    Json::Object(
        members
            .into_iter()
            .map(|(name, x)| (name.to_string(), x))
            .collect(),
    )
}

fn quoted(text: &str) -> String {
    let mut made = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => made.extend(['\\', letter]),
            x if (x as u32) < 32 => made.push_str(&format!("\\u{:04x}", x as u32)),
            x => made.push(x),
        }
    }
    made + "\""
}

impl fmt::Display for Json {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Json::Null => write!(out, "null"),
            Json::Bool(x) => write!(out, "{x}"),
            Json::Number(said) => write!(out, "{said}"),
            Json::Text(text) => write!(out, "{}", quoted(text)),
            Json::List(items) => {
                let items: Vec<_> = items.iter().map(Json::to_string).collect();
                write!(out, "[{}]", items.join(","))
            }
            Json::Object(members) => {
                let member = |(name, x): &(String, Json)| format!("{}:{x}", quoted(name));
                let members: Vec<_> = members.iter().map(member).collect();
                write!(out, "{{{}}}", members.join(","))
            }
        }
    }
}

const DEEPEST: usize = 200;

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn fault(&self) -> String {
        format!("no JSON at byte {}", self.at)
    }

    fn rest(&self) -> &[u8] {
        &self.text.as_bytes()[self.at..]
    }

    fn space(&mut self) {
        self.at += self
            .rest()
            .iter()
            .take_while(|x| x.is_ascii_whitespace())
            .count();
    }

    fn takes(&mut self, word: &str) -> bool {
        let found = self.rest().starts_with(word.as_bytes());
        self.at += if found { word.len() } else { 0 };
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, String> {
        self.space();
        if depth > DEEPEST {
            return Err("nested too deeply".to_string());
        }
        for (word, value) in [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
        ] {
            if self.takes(word) {
                return Ok(value);
            }
        }
        match self.rest().first() {
            Some(b'"') => self.text().map(Json::Text),
            Some(b'[') => {
                let items = self.items('[', ']', |reader| reader.value(depth + 1))?;
                Ok(Json::List(items))
            }
            Some(b'{') => {
                let items = self.items('{', '}', |reader| {
                    reader.space();
                    let name = reader.text()?;
                    reader.space();
                    if !reader.takes(":") {
                        return Err(reader.fault());
                    }
                    Ok((name, reader.value(depth + 1)?))
                })?;
                Ok(Json::Object(items))
            }
            _ => {
                let is_part = |x: &&u8| x.is_ascii_digit() || b"+-.eE".contains(x);
                let length = self.rest().iter().take_while(is_part).count();
                let said = self.text[self.at..self.at + length].to_string();
                if said.parse::<f64>().is_err() {
                    return Err(self.fault());
                }
                self.at += length;
                Ok(Json::Number(said))
            }
        }
    }

    fn items<T>(
        &mut self,
        open: char,
        close: char,
        item: impl Fn(&mut Self) -> Result<T, String>,
    ) -> Result<Vec<T>, String> {
        let (open, close) = (open.to_string(), close.to_string());
        self.takes(&open);
        self.space();
        let mut found = Vec::new();
        while !self.takes(&close) {
            if !found.is_empty() && !self.takes(",") {
                return Err(self.fault());
            }
            found.push(item(self)?);
            self.space();
        }
        Ok(found)
    }

    fn text(&mut self) -> Result<String, String> {
        if !self.takes("\"") {
            return Err(self.fault());
        }
        let mut made = String::new();
        loop {
            let letter = self.text[self.at..]
                .chars()
                .next()
                .ok_or_else(|| self.fault())?;
            self.at += letter.len_utf8();
            match letter {
                '"' => return Ok(made),
                '\\' => made.push(self.escaped()?),
                other => made.push(other),
            }
        }
    }

    fn escaped(&mut self) -> Result<char, String> {
        let letter = self.text[self.at..]
            .chars()
            .next()
            .ok_or_else(|| self.fault())?;
        self.at += letter.len_utf8();
        Ok(match letter {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => {
                let digits = self
                    .text
                    .get(self.at..self.at + 4)
                    .ok_or_else(|| self.fault())?;
                let code = u32::from_str_radix(digits, 16).map_err(|_| self.fault())?;
                self.at += 4;
                char::from_u32(code).unwrap_or('\u{fffd}')
            }
            other => other,
        })
    }
}
