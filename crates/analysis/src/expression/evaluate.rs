//! Walks the tree. Values of the result are borrowed, not copied; what grows is counted, so that no expression can take
//! more time or memory than the limits say.

use std::collections::{BTreeMap, BTreeSet};

use super::held::{ABSENT, Held};
use super::meter::effort;
use super::parts::member;
use super::syntax::{Kind, Node, Pointer};
use super::value::{MAP, Value};
use super::{Environment, Problem, calls, time, walks};

/// Why an evaluation stops before its end.
pub(super) enum Halt {
    /// A `?.` met nil: the chain around it is nil.
    Absent,
    Failed(Problem),
}

/// What a predicate knows of the item it is asked about.
pub(super) struct Scope<'a> {
    pub(super) item: Held<'a>,
    pub(super) index: usize,
    pub(super) accumulated: Held<'a>,
}

pub(super) struct Evaluator<'a> {
    pub(super) environment: &'a Environment,
    /// Where the library compares without looking.
    pub(super) strict: BTreeSet<usize>,
    variables: Vec<(&'a str, Held<'a>)>,
    pub(super) scopes: Vec<Scope<'a>>,
    pub(super) steps: usize,
    pub(super) values: usize,
    pub(super) characters: usize,
    /// NaN was compared with something on the way to what is known so far.
    pub(super) met_nan: bool,
}

/// What came of an evaluation.
pub(super) struct Evaluated<'a> {
    pub(super) value: Held<'a>,
    /// NaN was compared with something, so what came of it means nothing.
    pub(super) met_nan: bool,
}

/// Evaluates a tree.
pub(super) fn evaluate<'a>(
    node: &'a Node,
    environment: &'a Environment,
    strict: BTreeSet<usize>,
) -> Result<Evaluated<'a>, Problem> {
    let mut evaluator = Evaluator {
        environment,
        strict,
        variables: Vec::new(),
        scopes: Vec::new(),
        steps: 0,
        values: 0,
        characters: 0,
        met_nan: false,
    };
    let value = evaluator.visit(node).map_err(|halt| match halt {
        Halt::Failed(problem) => problem,
        Halt::Absent => Problem { position: node.position, message: "nil has no fields".to_owned() },
    })?;
    Ok(Evaluated { value, met_nan: evaluator.met_nan })
}

/// An error at a node.
pub(super) fn failed<T>(position: usize, message: String) -> Result<T, Halt> {
    Err(Halt::Failed(Problem { position, message }))
}

pub(super) fn at<T>(position: usize, outcome: Result<T, String>) -> Result<T, Halt> {
    outcome.or_else(|message| failed(position, message))
}

impl<'a> Evaluator<'a> {
    pub(super) fn visit(&mut self, node: &'a Node) -> Result<Held<'a>, Halt> {
        let position = node.position;
        self.work(position, 1)?;
        match &node.kind {
            Kind::Literal(value) => Ok(Held::Borrowed(value)),
            Kind::Result => Ok(Held::Borrowed(&self.environment.result)),
            Kind::Variable(name) => Ok(self.variable(name)),
            Kind::Not(inner) => {
                let value = self.truth(inner)?;
                Ok(Held::Owned(Value::Bool(!value)))
            }
            Kind::Negative(inner) => match *self.visit(inner)? {
                Value::Integer(number) => Ok(Held::Owned(Value::Integer(number.wrapping_neg()))),
                Value::Float(number) => Ok(Held::Owned(Value::Float(-number))),
                ref other => failed(position, format!("a sign needs a number, not {}", other.kind())),
            },
            // Does nothing, not even look.
            Kind::Positive(inner) => self.visit(inner),
            Kind::Binary(operator, left, right) => self.binary(position, *operator, left, right),
            Kind::Matches(text, pattern) => {
                let text = self.visit(text)?;
                self.matched(position, &text, pattern).map(|found| Held::Owned(Value::Bool(found)))
            }
            Kind::Chain(inner) => match self.visit(inner) {
                Err(Halt::Absent) => Ok(Held::Borrowed(ABSENT)),
                other => other,
            },
            Kind::Member { base, property, optional } => {
                let base = self.base(base, *optional)?;
                let property = self.visit(property)?;
                if let Value::Text(name) = &*property {
                    self.work(position, effort(name.len()))?;
                }
                self.part(position, &base, |value| member(value, &property))
            }
            Kind::Slice { base, from, to } => {
                let base = self.visit(base)?;
                let to = to.as_deref().map(|to| self.visit(to)).transpose()?;
                let from = from.as_deref().map(|from| self.visit(from)).transpose()?;
                self.slice(position, &base, from.as_deref(), to.as_deref())
            }
            Kind::Call(signature, arguments) => calls::call(self, position, signature, arguments),
            Kind::Method { base, name, optional, arguments } => {
                let base = self.base(base, *optional)?;
                let mut given = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let argument = self.visit(argument)?;
                    given.push(self.copy(position, &argument)?);
                }
                at(position, time::call(&base, name, &given)).map(Held::Owned)
            }
            Kind::Loop(walk) => walks::walk(self, position, walk),
            Kind::Pointer(pointer) => Ok(match (self.scopes.last(), pointer) {
                (None, _) => Held::Borrowed(ABSENT),
                (Some(scope), Pointer::Item) => scope.item.clone(),
                (Some(scope), Pointer::Index) => {
                    Held::Owned(Value::Integer(i64::try_from(scope.index).unwrap_or(i64::MAX)))
                }
                (Some(scope), Pointer::Accumulated) => scope.accumulated.clone(),
            }),
            Kind::Let { name, value, body } => {
                let value = self.visit(value)?.shared();
                self.variables.push((name, value));
                let body = self.visit(body);
                self.variables.pop();
                body
            }
            Kind::Sequence(nodes) => {
                let mut last = Held::Borrowed(ABSENT);
                for node in nodes {
                    last = self.visit(node)?;
                }
                Ok(last)
            }
            Kind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                if self.truth(condition)? { self.visit(yes) } else { self.visit(no) }
            }
            Kind::List(items) => self.list(position, items),
            Kind::Map(pairs) => self.map(position, pairs),
        }
    }

    fn variable(&self, name: &str) -> Held<'a> {
        let known = self.variables.iter().rev().find(|(known, _)| *known == name);
        known.map_or(Held::Borrowed(ABSENT), |(_, value)| value.clone())
    }

    /// What a field or a method is taken from.
    fn base(&mut self, base: &'a Node, optional: bool) -> Result<Held<'a>, Halt> {
        let base = self.visit(base)?;
        if optional && *base == Value::Nil { Err(Halt::Absent) } else { Ok(base) }
    }

    /// A condition.
    pub(super) fn truth(&mut self, node: &'a Node) -> Result<bool, Halt> {
        match *self.visit(node)? {
            Value::Bool(value) => Ok(value),
            ref other => failed(node.position, format!("a condition is expected, not {}", other.kind())),
        }
    }

    fn list(&mut self, position: usize, nodes: &'a [Node]) -> Result<Held<'a>, Halt> {
        let mut items = Vec::with_capacity(nodes.len());
        for node in nodes {
            let item = self.visit(node)?;
            items.push(self.owned(position, item)?);
        }
        self.grow(position, items.len())?;
        Ok(Held::Owned(Value::List(items)))
    }

    fn map(&mut self, position: usize, pairs: &'a [(Node, Node)]) -> Result<Held<'a>, Halt> {
        self.work(position, MAP)?;
        let mut fields = BTreeMap::new();
        for (key, value) in pairs {
            let key = match &*self.visit(key)? {
                Value::Text(name) => {
                    self.write(position, name.len())?;
                    name.clone()
                }
                other => {
                    return failed(position, format!("the name of a field is a text, not {}", other.kind()));
                }
            };
            let value = self.visit(value)?;
            let value = self.owned(position, value)?;
            // Of two fields with one name the library keeps the first.
            fields.entry(key).or_insert(value);
        }
        self.grow(position, pairs.len())?;
        Ok(Held::Owned(Value::Map(fields)))
    }
}
