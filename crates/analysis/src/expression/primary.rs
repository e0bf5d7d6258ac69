//! What an expression is made of: literals, names, calls, lists, maps, parentheses.

use super::CompileError;
use super::functions::{Function, LEFT_OUT, SIGNATURES, Signature};
use super::lexer::Token;
use super::parser::Parser;
use super::syntax::{Kind, Loop, Node, Over, Pointer};
use super::value::Value;
use crate::suggest::did_you_mean;

/// How tightly `not` and `!` bind, and the signs.
const NOT: u16 = 50;
const SIGN: u16 = 90;

impl Parser<'_> {
    pub(super) fn primary(&mut self) -> Result<Node, CompileError> {
        let position = self.position();
        match self.token().clone() {
            Token::Operator(sign) => match sign.as_str() {
                "not" | "!" | "-" | "+" => {
                    self.advance();
                    let binds = if sign == "-" || sign == "+" { SIGN } else { NOT };
                    let inner = Box::new(self.expression(binds)?);
                    let kind = match sign.as_str() {
                        "-" => Kind::Negative(inner),
                        "+" => Kind::Positive(inner),
                        _ => Kind::Not(inner),
                    };
                    let node = self.node(position, kind)?;
                    self.postfix(node)
                }
                "#" | "." if !self.predicates.is_empty() => {
                    let node = self.pointer(position, &sign)?;
                    self.postfix(node)
                }
                "::" => {
                    self.advance();
                    let Token::Name(name) = self.token().clone() else { return Err(self.unexpected()) };
                    self.advance();
                    let node = self.call(position, &name, Vec::new())?;
                    self.postfix(node)
                }
                _ => Err(self.unexpected()),
            },
            Token::Bracket('(') => {
                self.advance();
                let node = self.sequence()?;
                self.expect_bracket(')')?;
                self.postfix(node)
            }
            _ => self.secondary(position),
        }
    }

    fn pointer(&mut self, position: usize, sign: &str) -> Result<Node, CompileError> {
        let mut pointer = Pointer::Item;
        if sign == "#" {
            self.advance();
            if let Token::Name(name) = self.token().clone() {
                pointer = match name.as_str() {
                    "index" => Pointer::Index,
                    "acc" => Pointer::Accumulated,
                    _ => {
                        return Err(CompileError::new(
                            position,
                            format!(
                                "`#{name}` is not known: there are #, #index and #acc; a field is #.{name}"
                            ),
                        ));
                    }
                };
                self.advance();
            }
        }
        match self.predicates.last() {
            Some(over) if over.has(pointer) => self.node(position, Kind::Pointer(pointer)),
            _ => Err(CompileError::new(
                position,
                "#index is known in map and reduce only, #acc in reduce only".to_owned(),
            )),
        }
    }

    fn secondary(&mut self, position: usize) -> Result<Node, CompileError> {
        let node = match self.token().clone() {
            Token::Name(name) => {
                self.advance();
                let literal = match name.as_str() {
                    "true" => Some(Value::Bool(true)),
                    "false" => Some(Value::Bool(false)),
                    "nil" => Some(Value::Nil),
                    _ => None,
                };
                if let Some(literal) = literal {
                    return self.node(position, Kind::Literal(literal));
                }
                if self.token().is_bracket('(') {
                    self.call(position, &name, Vec::new())?
                } else {
                    let kind = self.named(position, name)?;
                    self.node(position, kind)?
                }
            }
            Token::Number(text) => {
                self.advance();
                return self.node(position, Kind::Literal(number(position, &text)?));
            }
            Token::Text(text) => {
                self.advance();
                self.node(position, Kind::Literal(Value::Text(text)))?
            }
            Token::Bracket('[') => self.list(position)?,
            Token::Bracket('{') => self.map(position)?,
            _ => return Err(self.unexpected()),
        };
        self.postfix(node)
    }

    fn named(&self, position: usize, name: String) -> Result<Kind, CompileError> {
        if self.variables.contains(&name) {
            return Ok(Kind::Variable(name));
        }
        if name == "result" {
            return Ok(Kind::Result);
        }
        if name == "$env" {
            return Err(CompileError::left_out(position, "`$env`", "write the name itself"));
        }
        if Signature::named(&name).is_some() || Over::named(&name).is_some() {
            return Err(CompileError::new(position, format!("`{name}` is a function: write `{name}(…)`")));
        }
        Err(self.unknown(position, &name))
    }

    fn unknown(&self, position: usize, name: &str) -> CompileError {
        if let Some((_, instead)) = LEFT_OUT.iter().find(|(known, _)| *known == name) {
            return CompileError::left_out(position, &format!("the function `{name}`"), instead);
        }
        let known: Vec<&str> = ["result", "true", "false", "nil"]
            .into_iter()
            .chain(self.variables.iter().map(String::as_str))
            .chain(SIGNATURES.iter().map(|signature| signature.name))
            .chain(Over::NAMES.iter().map(|(name, _)| *name))
            .collect();
        let hint = match did_you_mean(name, &known) {
            Some(known) => format!("did you mean `{known}`?"),
            None => "the measured value is called `result`; a text needs quotes".to_owned(),
        };
        CompileError::new(position, format!("the name `{name}` is not known: {hint}"))
    }

    pub(super) fn piped(&mut self, left: Node) -> Result<Node, CompileError> {
        let position = self.position();
        let Token::Name(name) = self.token().clone() else {
            return Err(CompileError::new(
                position,
                "the name of a function is expected behind `|`; for \"or\" write `||`".to_owned(),
            ));
        };
        self.advance();
        self.call(position, &name, vec![left])
    }

    /// The call of a function; `given` is what a pipe brings.
    fn call(&mut self, position: usize, name: &str, given: Vec<Node>) -> Result<Node, CompileError> {
        if let Some(over) = Over::named(name) {
            return self.walk(position, over, given);
        }
        let Some(signature) = Signature::named(name) else {
            if name == "result" || self.variables.iter().any(|known| known == name) {
                return Err(CompileError::new(position, format!("`{name}` is a value, it cannot be called")));
            }
            return Err(self.unknown(position, name));
        };
        let arguments = self.arguments(given)?;
        let most = if signature.variadic { usize::MAX } else { signature.parameters.len() };
        if (signature.least..=most).contains(&arguments.len()) {
            return self.node(position, Kind::Call(signature, arguments));
        }
        match signature.function {
            Function::Date if (2..=3).contains(&arguments.len()) => Err(CompileError::left_out(
                position,
                "`date` with a layout or a time zone",
                "write the time as 2006-01-02T15:04:05Z",
            )),
            Function::Now if arguments.len() == 1 => {
                Err(CompileError::left_out(position, "`now` with a time zone", "write now()"))
            }
            _ => {
                let (least, given) = (signature.least, arguments.len());
                let wanted = match signature.parameters.len() {
                    _ if signature.variadic => format!("at least {least}"),
                    most if most == least => least.to_string(),
                    most => format!("{least} to {most}"),
                };
                Err(CompileError::new(
                    position,
                    format!(
                        "`{name}` takes {wanted} argument{}, not {given}",
                        if wanted == "1" { "" } else { "s" }
                    ),
                ))
            }
        }
    }

    pub(super) fn arguments(&mut self, given: Vec<Node>) -> Result<Vec<Node>, CompileError> {
        let mut arguments = given;
        self.expect_bracket('(')?;
        let mut first = true;
        while !self.token().is_bracket(')') {
            if !first {
                self.expect_operator(",")?;
                if self.token().is_bracket(')') {
                    break;
                }
            }
            first = false;
            arguments.push(self.expression(0)?);
        }
        self.expect_bracket(')')?;
        Ok(arguments)
    }

    /// The call of a function with a predicate.
    fn walk(&mut self, position: usize, over: Over, given: Vec<Node>) -> Result<Node, CompileError> {
        self.expect_bracket('(')?;
        let mut given = given;
        let piped = !given.is_empty();
        let missing = |parser: &Self| {
            CompileError::new(
                parser.position(),
                format!(
                    "`{}` needs a list and what to ask of each item, as in {0}(result, # > 1)",
                    over.name()
                ),
            )
        };
        let collection = match given.pop() {
            Some(collection) => collection,
            None if self.token().is_bracket(')') => return Err(missing(self)),
            None => self.expression(0)?,
        };
        let mut predicate = None;
        if !self.token().is_bracket(')') {
            if !piped {
                self.expect_operator(",")?;
            }
            predicate = Some(self.predicate(over)?);
        } else if !over.predicate_is_optional() {
            return Err(missing(self));
        }
        let mut extra = None;
        if over.takes_extra() && !self.token().is_bracket(')') {
            self.expect_operator(",")?;
            extra = Some(self.expression(0)?);
        }
        if self.token().is_operator(",") {
            self.advance();
        }
        self.expect_bracket(')')?;
        self.node(position, Kind::Loop(Box::new(Loop { over, collection, predicate, extra })))
    }

    fn predicate(&mut self, over: Over) -> Result<Node, CompileError> {
        self.predicates.push(over);
        let node = if self.token().is_bracket('{') {
            self.block()
        } else {
            self.expression(0).and_then(|node| {
                if self.token().is_operator(";") {
                    let advice = "put what is asked of each item in { and }".to_owned();
                    return Err(CompileError::new(self.position(), advice));
                }
                Ok(node)
            })
        };
        self.predicates.pop();
        node
    }

    fn list(&mut self, position: usize) -> Result<Node, CompileError> {
        self.advance();
        let mut items = Vec::new();
        while !self.token().is_bracket(']') {
            if !items.is_empty() {
                self.expect_operator(",")?;
                if self.token().is_bracket(']') {
                    break;
                }
            }
            items.push(self.expression(0)?);
        }
        self.expect_bracket(']')?;
        self.node(position, Kind::List(items))
    }

    fn map(&mut self, position: usize) -> Result<Node, CompileError> {
        self.advance();
        let mut pairs = Vec::new();
        while !self.token().is_bracket('}') {
            if !pairs.is_empty() {
                self.expect_operator(",")?;
                if self.token().is_bracket('}') {
                    break;
                }
            }
            let place = self.position();
            let key = match self.token().clone() {
                Token::Name(text) | Token::Number(text) | Token::Text(text) => {
                    self.advance();
                    self.node(place, Kind::Literal(Value::Text(text)))?
                }
                Token::Bracket('(') => self.expression(0)?,
                _ => {
                    return Err(CompileError::new(
                        place,
                        "the name of a field is expected here: a name, a text, a number, or an expression in ( )"
                            .to_owned(),
                    ));
                }
            };
            self.expect_operator(":")?;
            let value = self.expression(0)?;
            pairs.push((key, value));
        }
        self.expect_bracket('}')?;
        self.node(position, Kind::Map(pairs))
    }
}

fn number(position: usize, text: &str) -> Result<Value, CompileError> {
    let plain = text.replace('_', "").to_lowercase();
    let wrong = || CompileError::new(position, format!("{text:?} is not a number that fits"));
    let whole =
        |digits: &str, base| i64::from_str_radix(digits, base).map(Value::Integer).map_err(|_| wrong());
    if let Some(digits) = plain.strip_prefix("0x") {
        return whole(digits, 16);
    }
    if plain.contains(['.', 'e']) {
        let number: f64 = plain.parse().map_err(|_| wrong())?;
        return if number.is_finite() { Ok(Value::Float(number)) } else { Err(wrong()) };
    }
    if let Some(digits) = plain.strip_prefix("0b") {
        return whole(digits, 2);
    }
    match plain.strip_prefix("0o") {
        Some(digits) => whole(digits, 8),
        None => whole(&plain, 10),
    }
}
