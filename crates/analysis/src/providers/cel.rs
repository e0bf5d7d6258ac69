//! CEL, the language that Kubernetes itself uses for questions about objects, on the crate `cel`. That crate stops for
//! nothing: an expression that is nested too deep ends the whole process, because its evaluation uses up the stack, and
//! loops within loops go on for as long as they take. Whoever may write a template must be able to do neither, so an
//! expression is
//!
//! - not longer than [`limits::TEXT`], nor made of more than [`limits::NODES`] parts, nor nested deeper than
//!   [`limits::DEPTH`], all of which is checked before anything is evaluated;
//! - not evaluated when what it is given has more than [`limits::VALUES`] values, or when loops over that many could take
//!   more than [`limits::WORK`] steps (module `work` estimates them), and its result is refused when it has more than
//!   [`limits::RESULT`] values;
//! - read by the newer of the crate's two parsers, which uses far less of the stack; a test compares the two.
//!
//! Of the crate's features none but that parser is on, so that there is no chrono: `now` is a number of seconds, and
//! `unix(text)` makes one out of a time as Kubernetes writes it. `sum()`, `min()` and `max()` of a list are as in
//! Kubernetes.

mod functions;
mod work;

use std::sync::Arc;

use cel::common::ast::{EntryExpr, Expr};
use cel::objects::{Key, Map};
use cel::parser::PrattParser;
use cel::{Context, IdedExpr, Value as Cel};
use serde_json::Value as Json;

use crate::expression::Value;
use functions::FUNCTIONS;
pub(super) use work::Sizes;

/// What an expression may take at most.
mod limits {
    /// Bytes of the text.
    pub(super) const TEXT: usize = 4096;
    /// Parts of it.
    pub(super) const NODES: usize = 1000;
    /// How deep it may be nested.
    pub(super) const DEPTH: usize = 32;
    /// How deep brackets may be nested.
    pub(super) const BRACKETS: u16 = 12;
    /// Values in what it is given.
    pub(super) const VALUES: usize = 1_000_000;
    /// Values in what it gives, which is written into a status.
    pub(super) const RESULT: usize = 1000;
    /// Steps of an evaluation. One takes a fifth of a microsecond.
    pub(super) const WORK: u64 = 10_000_000;
}

/// An expression that can be evaluated.
#[derive(Debug)]
pub(super) struct Program {
    expression: IdedExpr,
    /// The variables it uses.
    used: Vec<&'static str>,
}

impl Program {
    /// Reads an expression that may use these variables, or says what is wrong with it.
    pub(super) fn compile(text: &str, variables: &[&'static str]) -> Result<Self, String> {
        if text.len() > limits::TEXT {
            return Err(format!(
                "an expression has at most {} bytes, and this one has {}",
                limits::TEXT,
                text.len()
            ));
        }
        let parser = PrattParser::new()
            .max_recursion_depth(limits::BRACKETS)
            .max_expression_node_count(limits::NODES)
            .enable_optional_syntax(true);
        let expression = parser.parse(text).map_err(|errors| unreadable(&errors))?;
        let mut names = Names { known: variables, bound: Vec::new(), used: Vec::new() };
        names.check(&expression, 0)?;
        let used = names.used;
        Ok(Self { expression, used })
    }

    /// Whether it uses a variable.
    pub(super) fn uses(&self, name: &str) -> bool {
        self.used.contains(&name)
    }

    /// Evaluates it. The variables are those that it uses, and `sizes` tells how large they are together.
    pub(super) fn evaluate(&self, variables: &[(&'static str, Cel)], sizes: &Sizes) -> Result<Value, String> {
        if sizes.values > limits::VALUES {
            return Err(format!(
                "the objects have {} values together, and an expression may look at {} at most",
                sizes.values,
                limits::VALUES
            ));
        }
        let work = work::estimate(&self.expression, sizes);
        if work > limits::WORK {
            return Err(format!(
                "over so many objects the expression could take {work} steps, and {} is the most: put fewer loops within loops",
                limits::WORK
            ));
        }
        let mut context = Context::default();
        functions::add(&mut context)?;
        for (name, value) in variables {
            context.add_variable_from_value(*name, value.clone());
        }
        let result = Cel::resolve(&self.expression, &context);
        result.map_err(|error| functions::failure(&error)).and_then(|value| plain(&value, &mut 0))
    }
}

fn unreadable(errors: &cel::ParseErrors) -> String {
    // What follows the first error comes of guesses; what has no place is about the expression as a whole.
    let whole = errors.errors.iter().find(|error| error.msg.contains("limit"));
    let first = errors.errors.iter().filter(|error| error.pos.0 > 0).min_by_key(|error| error.pos);
    match (whole, first) {
        (Some(error), _) => error.msg.clone(),
        (None, Some(error)) => {
            let (line, column) = error.pos;
            format!("{} (line {line}, character {column})", error.msg.trim_start_matches("Syntax error: "))
        }
        (None, None) => "it cannot be read".to_owned(),
    }
}

/// Checks the names in an expression, and how deep it is.
struct Names<'a> {
    known: &'a [&'static str],
    bound: Vec<String>,
    used: Vec<&'static str>,
}

impl Names<'_> {
    fn check(&mut self, node: &IdedExpr, depth: usize) -> Result<(), String> {
        if depth > limits::DEPTH {
            return Err(format!(
                "it is nested deeper than {} levels; a sum of many parts counts as one level for each",
                limits::DEPTH
            ));
        }
        match &node.expr {
            Expr::Ident(name) => self.name(name),
            // A chain of fields takes no stack.
            Expr::Select(select) => {
                let mut operand = select.operand.as_ref();
                while let Expr::Select(inner) = &operand.expr {
                    operand = inner.operand.as_ref();
                }
                self.check(operand, depth + 1)
            }
            Expr::Call(call) => {
                function(&call.func_name)?;
                call.target.iter().try_for_each(|target| self.check(target, depth + 1))?;
                call.args.iter().try_for_each(|argument| self.check(argument, depth + 1))
            }
            Expr::List(list) => list.elements.iter().try_for_each(|element| self.check(element, depth + 1)),
            Expr::Map(map) => map.entries.iter().try_for_each(|entry| match &entry.expr {
                EntryExpr::MapEntry(entry) => {
                    self.check(&entry.key, depth + 1)?;
                    self.check(&entry.value, depth + 1)
                }
                EntryExpr::StructField(field) => self.check(&field.value, depth + 1),
            }),
            Expr::Comprehension(loops) => {
                self.check(&loops.iter_range, depth + 1)?;
                self.check(&loops.accu_init, depth + 1)?;
                let before = self.bound.len();
                self.bound.push(loops.iter_var.clone());
                self.bound.extend(loops.iter_var2.clone());
                self.bound.push(loops.accu_var.clone());
                for part in [&loops.loop_cond, &loops.loop_step, &loops.result] {
                    self.check(part, depth + 1)?;
                }
                self.bound.truncate(before);
                Ok(())
            }
            Expr::Literal(_) => Ok(()),
            Expr::Struct(_) | Expr::Unspecified => Err("objects of a type cannot be made here".to_owned()),
        }
    }

    fn name(&mut self, name: &str) -> Result<(), String> {
        if self.bound.iter().any(|bound| bound == name) {
            return Ok(());
        }
        let Some(known) = self.known.iter().find(|known| **known == name) else {
            return Err(format!("the name {name} is not known; there are {}", self.known.join(", ")));
        };
        if !self.used.contains(known) {
            self.used.push(known);
        }
        Ok(())
    }
}

/// Operators have signs in their names; functions are known or not.
fn function(name: &str) -> Result<(), String> {
    let operator = name.contains(|sign: char| !sign.is_ascii_alphanumeric());
    if operator || FUNCTIONS.contains(&name) {
        return Ok(());
    }
    Err(format!("the function {name} is not known; there are {}", FUNCTIONS.join(", ")))
}

/// JSON as the language sees it: numbers without a fraction are whole numbers.
pub(super) fn from_json(json: &Json) -> Cel {
    match json {
        Json::Null => Cel::Null,
        Json::Bool(value) => Cel::Bool(*value),
        Json::Number(number) => number
            .as_i64()
            .map(Cel::Int)
            .or_else(|| number.as_u64().map(Cel::UInt))
            .unwrap_or_else(|| Cel::Float(number.as_f64().unwrap_or(f64::NAN))),
        Json::String(text) => Cel::from(text.as_str()),
        Json::Array(items) => Cel::List(Arc::new(items.iter().map(from_json).collect())),
        Json::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| (Key::from(name.as_str()), from_json(value)));
            Cel::Map(Map { map: Arc::new(fields.collect()) })
        }
    }
}

/// A result as conditions see it, and how many values there are in it so far.
fn plain(value: &Cel, values: &mut usize) -> Result<Value, String> {
    *values += 1;
    if *values > limits::RESULT {
        return Err(format!(
            "the result has more than {} values: let the expression count or choose",
            limits::RESULT
        ));
    }
    Ok(match value {
        Cel::Null => Value::Nil,
        Cel::Bool(value) => Value::Bool(*value),
        Cel::Int(number) => Value::Integer(*number),
        Cel::UInt(number) => match i64::try_from(*number) {
            Ok(number) => Value::Integer(number),
            Err(_) => return Err(format!("the result {number} is too large")),
        },
        Cel::Float(number) => Value::Float(*number),
        Cel::String(text) => {
            *values += text.len() / 64;
            Value::Text(text.to_string())
        }
        Cel::List(items) => {
            Value::List(items.iter().map(|item| plain(item, values)).collect::<Result<_, _>>()?)
        }
        Cel::Map(map) => {
            let fields = map.map.iter().map(|(key, value)| Ok((key.to_string(), plain(value, values)?)));
            Value::Map(fields.collect::<Result<_, String>>()?)
        }
        other => {
            return Err(format!(
                "the result is of the type {}, which no condition can judge; use orValue() on an optional one",
                other.type_of()
            ));
        }
    })
}
