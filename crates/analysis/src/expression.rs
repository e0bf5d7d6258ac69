//! The language of success and failure conditions: `expr` (expr-lang/expr, version 1.17), as Argo Rollouts evaluates it.
//! No crate reads it, so this is a small evaluator of its own. It is compared, case by case, with the real library
//! (tests/expressions.rs); docs/expressions.md says what is left out.
//!
//! A text is compiled once and evaluated for each measurement. Nothing here looks at a clock: the time is part of the
//! [`Environment`]. No text can take more than the [`limits`], whoever wrote it.

mod binary;
mod calls;
mod checker;
mod evaluate;
mod fold;
mod functions;
mod held;
mod lexer;
mod meter;
mod nature;
mod numbers;
mod operators;
mod parser;
mod parts;
mod pattern;
mod postfix;
mod primary;
mod sets;
mod sorting;
mod syntax;
mod texts;
mod time;
mod value;
mod walks;
mod written;

use jiff::Timestamp;

use nature::Nature;
pub(crate) use pattern::{Budget, Pattern};
use syntax::Node;
pub use value::Value;
pub(crate) use written::{quoted, to_base64};

/// What an expression may take at most.
pub mod limits {
    /// Bytes of the text of an expression.
    pub const TEXT: usize = 64 * 1024;
    /// Parts of an expression, as in the library.
    pub const NODES: usize = 10_000;
    /// Parts of all expressions of a run.
    pub const NODES_TOGETHER: usize = 50_000;
    /// How deep an expression may be nested.
    pub const DEPTH: usize = 100;
    /// Steps of an evaluation. A step takes about a tenth of a microsecond, so none takes a second.
    pub const STEPS: usize = 1_000_000;
    /// Values that an evaluation makes in lists and maps, as in the library.
    pub const VALUES: usize = 1_000_000;
    /// Bytes of the texts that an evaluation makes.
    pub const CHARACTERS: usize = 4 * 1024 * 1024;
    /// How deep `reduce` may nest values.
    pub const VALUE_DEPTH: usize = 200;
    /// Bytes of a pattern.
    pub const PATTERN_TEXT: usize = 8 * 1024;
    /// How deep a pattern may be nested.
    pub const PATTERN_DEPTH: u32 = 100;
    /// Bytes of the patterns of an expression, once they are compiled.
    pub const PATTERNS: usize = 512 * 1024;
}

/// Why a text is not an expression.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {})", .position + 1)]
pub struct CompileError {
    /// Where, counted in characters from 0.
    pub position: usize,
    /// What is wrong and what to do.
    pub message: String,
}

impl CompileError {
    fn new(position: usize, message: String) -> Self {
        Self { position, message }
    }

    /// For what the library has and this evaluator has not.
    fn left_out(position: usize, what: &str, instead: &str) -> Self {
        Self::new(position, format!("{what} is not supported: {instead}"))
    }
}

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message} (at character {})", .position + 1)]
pub struct EvaluationError {
    /// Where, counted in characters from 0.
    pub position: usize,
    /// What is wrong and what to do.
    pub message: String,
}

/// Something wrong at a place; an error of one of the two kinds, depending on when it is found.
#[derive(Debug)]
struct Problem {
    position: usize,
    message: String,
}

impl From<Problem> for CompileError {
    fn from(Problem { position, message }: Problem) -> Self {
        Self { position, message }
    }
}

impl From<Problem> for EvaluationError {
    fn from(Problem { position, message }: Problem) -> Self {
        Self { position, message }
    }
}

/// What an expression sees.
#[derive(Clone, Debug)]
pub struct Environment {
    /// What was measured: `result`.
    pub result: Value,
    /// What `now()` says.
    pub now: Timestamp,
}

/// What a condition says of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Said {
    /// Whether it holds.
    pub holds: bool,
    /// Whether NaN was compared with something on the way. The language says of that mostly false, which tells nothing.
    pub met_nan: bool,
}

/// A compiled expression. Cheap to keep and to run again and again.
#[derive(Clone, Debug)]
pub struct Program {
    /// As it was written: what is checked against the kind of the result.
    written: Node,
    /// With constants computed: what is evaluated.
    folded: Node,
    asks_for_nan: bool,
}

/// Reads an expression and finds what is wrong with it without knowing the result.
pub fn compile(text: &str) -> Result<Program, CompileError> {
    compile_within(text, &mut Budget::default())
}

/// Reads an expression that shares what it may take with others.
pub(crate) fn compile_within(text: &str, budget: &mut Budget) -> Result<Program, CompileError> {
    let written = parser::parse(text, budget)?;
    let asks_for_nan = checker::check(&written, &Nature::Unknown)?.asks_for_nan;
    let folded = fold::fold(written.clone())?;
    Ok(Program { written, folded, asks_for_nan })
}

fn no_truth(given: &str) -> String {
    format!("a condition must give true or false, but this one gives {given}")
}

impl Program {
    /// The value.
    pub fn run(&self, environment: &Environment) -> Result<Value, EvaluationError> {
        self.evaluated(environment).map(|evaluated| (*evaluated.value).clone())
    }

    /// Whether the condition holds. A value that is no bool is an error.
    pub fn holds(&self, environment: &Environment) -> Result<Said, EvaluationError> {
        let evaluated = self.evaluated(environment)?;
        match *evaluated.value {
            Value::Bool(holds) => Ok(Said { holds, met_nan: evaluated.met_nan }),
            ref other => Err(EvaluationError { position: 0, message: no_truth(other.kind()) }),
        }
    }

    /// Whether it can judge a result such as this one, or any at all: what would be an error for each is told before
    /// anything is measured. A condition gives true or false.
    pub fn judges(&self, such_as: Option<&Value>) -> Result<(), CompileError> {
        let result = such_as.map_or(Nature::Unknown, Nature::of);
        match checker::check(&self.written, &result)?.nature {
            Nature::Bool | Nature::Unknown | Nature::Any => Ok(()),
            other => Err(CompileError::new(0, no_truth(other.shown()))),
        }
    }

    /// Whether it handles NaN itself, by calling `isNaN`.
    pub fn asks_for_nan(&self) -> bool {
        self.asks_for_nan
    }

    fn evaluated<'a>(
        &'a self,
        environment: &'a Environment,
    ) -> Result<evaluate::Evaluated<'a>, EvaluationError> {
        let checked = checker::check(&self.written, &Nature::of(&environment.result))?;
        Ok(evaluate::evaluate(&self.folded, environment, checked.strict)?)
    }
}
