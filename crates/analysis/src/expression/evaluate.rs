//! Walks the tree. Values of the result are borrowed, not copied; what grows is counted, so that no expression can take
//! more time or memory than the limits say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;
use std::rc::Rc;

use super::sets::Set;
use super::syntax::{Kind, Node, Operator, Pointer};
use super::value::Value;
use super::{Environment, Problem, calls, limits, operators, pattern::Pattern, time, walks};

/// A value that is borrowed, shared or owned.
#[derive(Clone, Debug)]
pub(super) enum Held<'a> {
    Borrowed(&'a Value),
    Shared(Rc<Value>),
    Owned(Value),
}

impl Deref for Held<'_> {
    type Target = Value;

    fn deref(&self) -> &Value {
        match self {
            Self::Borrowed(value) => value,
            Self::Shared(value) => value,
            Self::Owned(value) => value,
        }
    }
}

impl Held<'_> {
    /// Makes copies cheap.
    pub(super) fn shared(self) -> Self {
        match self {
            Self::Owned(value) => Self::Shared(Rc::new(value)),
            other => other,
        }
    }
}

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
    strict: BTreeSet<usize>,
    variables: Vec<(&'a str, Held<'a>)>,
    pub(super) scopes: Vec<Scope<'a>>,
    steps: usize,
    values: usize,
    characters: usize,
    met_nan: bool,
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

const ABSENT: &Value = &Value::Nil;

impl<'a> Evaluator<'a> {
    /// Counts work.
    pub(super) fn work(&mut self, position: usize, steps: usize) -> Result<(), Halt> {
        self.steps = self.steps.saturating_add(steps);
        if self.steps > limits::STEPS {
            return failed(position, format!("the expression takes more than {} steps", limits::STEPS));
        }
        Ok(())
    }

    /// Counts values that are made.
    pub(super) fn grow(&mut self, position: usize, values: usize) -> Result<(), Halt> {
        self.values = self.values.saturating_add(values);
        if self.values >= limits::VALUES {
            return failed(position, format!("the expression makes more than {} values", limits::VALUES));
        }
        Ok(())
    }

    /// Counts characters that are made.
    pub(super) fn write(&mut self, position: usize, characters: usize) -> Result<(), Halt> {
        self.characters = self.characters.saturating_add(characters);
        if self.characters > limits::CHARACTERS {
            return failed(
                position,
                format!("the expression makes texts of more than {} bytes", limits::CHARACTERS),
            );
        }
        Ok(())
    }

    /// Notes a value that is compared, or made a whole number, which NaN is not.
    pub(super) fn meet(&mut self, value: &Value) {
        self.met_nan |= value.has_nan();
    }

    /// A copy that is paid for.
    pub(super) fn copy(&mut self, position: usize, value: &Value) -> Result<Value, Halt> {
        self.work(position, value.weight())?;
        Ok(value.clone())
    }

    /// A part of a value, borrowed if the whole is.
    pub(super) fn part(
        &mut self,
        position: usize,
        whole: &Held<'a>,
        pick: impl for<'v> Fn(&'v Value) -> Result<&'v Value, String>,
    ) -> Result<Held<'a>, Halt> {
        match whole {
            Held::Borrowed(value) => at(position, pick(value)).map(Held::Borrowed),
            Held::Shared(value) => {
                let part = at(position, pick(value))?;
                self.copy(position, part).map(Held::Owned)
            }
            Held::Owned(value) => {
                let part = at(position, pick(value))?;
                self.copy(position, part).map(Held::Owned)
            }
        }
    }

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
                matched(position, &text, |text| Ok(pattern.matches(text)))
            }
            Kind::Chain(inner) => match self.visit(inner) {
                Err(Halt::Absent) => Ok(Held::Borrowed(ABSENT)),
                other => other,
            },
            Kind::Member { base, property, optional } => {
                let base = self.base(base, *optional)?;
                let property = self.visit(property)?;
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

    /// The value itself; a copy only if it is held elsewhere.
    pub(super) fn owned(&mut self, position: usize, held: Held<'a>) -> Result<Value, Halt> {
        match held {
            Held::Owned(value) => Ok(value),
            other => self.copy(position, &other),
        }
    }

    fn map(&mut self, position: usize, pairs: &'a [(Node, Node)]) -> Result<Held<'a>, Halt> {
        let mut fields = BTreeMap::new();
        for (key, value) in pairs {
            let key = match &*self.visit(key)? {
                Value::Text(name) => name.clone(),
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

    fn binary(
        &mut self,
        position: usize,
        operator: Operator,
        left: &'a Node,
        right: &'a Node,
    ) -> Result<Held<'a>, Halt> {
        match operator {
            Operator::Or => {
                return if self.truth(left)? {
                    Ok(Held::Owned(Value::Bool(true)))
                } else {
                    self.visit(right)
                };
            }
            Operator::And => {
                return if self.truth(left)? {
                    self.visit(right)
                } else {
                    Ok(Held::Owned(Value::Bool(false)))
                };
            }
            Operator::Otherwise => {
                let left = self.visit(left)?;
                return if *left == Value::Nil { self.visit(right) } else { Ok(left) };
            }
            _ => {}
        }
        if operator == Operator::In
            && let Some(set) = Set::of(right, self.strict.contains(&position))
        {
            let needle = self.visit(left)?;
            self.meet(&needle);
            self.work(position, set.len())?;
            return at(position, set.has(&needle)).map(|found| Held::Owned(Value::Bool(found)));
        }
        let left = self.visit(left)?;
        let right = self.visit(right)?;
        self.compute(position, operator, &left, &right).map(Held::Owned)
    }

    fn compute(
        &mut self,
        position: usize,
        operator: Operator,
        left: &Value,
        right: &Value,
    ) -> Result<Value, Halt> {
        let both_texts = |test: fn(&str, &str) -> bool| match (left, right) {
            (Value::Nil, _) | (_, Value::Nil) => Ok(Value::Bool(false)),
            (Value::Text(left), Value::Text(right)) => Ok(Value::Bool(test(left, right))),
            _ => {
                let (left, right) = (left.kind(), right.kind());
                failed(position, format!("`{}` does not go with {left} and {right}", operator.sign()))
            }
        };
        if operator.compares() || matches!(operator, Operator::Equal | Operator::NotEqual | Operator::In) {
            self.meet(left);
            self.meet(right);
        }
        match operator {
            Operator::Equal => {
                self.compared(position, left, right)?;
                Ok(Value::Bool(operators::equal(left, right)))
            }
            Operator::NotEqual => {
                self.compared(position, left, right)?;
                Ok(Value::Bool(!operators::equal(left, right)))
            }
            Operator::Less | Operator::More | Operator::LessOrEqual | Operator::MoreOrEqual => {
                at(position, operators::compare(operator, left, right)).map(Value::Bool)
            }
            Operator::In => {
                if let Value::List(items) = right {
                    self.work(position, items.len())?;
                }
                at(position, operators::contains(left, right)).map(Value::Bool)
            }
            Operator::Matches => match (left, right) {
                (_, Value::Text(pattern)) if *left != Value::Nil => {
                    self.work(position, limits::PATTERN_STEPS + pattern.len())?;
                    matched(position, left, |text| Ok(Pattern::new(pattern)?.matches(text)))
                        .map(|held| (*held).clone())
                }
                _ => both_texts(|_, _| false),
            },
            Operator::Contains => both_texts(|left, right| left.contains(right)),
            Operator::StartsWith => both_texts(|left, right| left.starts_with(right)),
            Operator::EndsWith => both_texts(|left, right| left.ends_with(right)),
            Operator::Range => self.range(position, left, right),
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Modulo
            | Operator::Power => {
                if let (Value::Text(left), Value::Text(right)) = (left, right) {
                    self.write(position, left.len().saturating_add(right.len()))?;
                }
                at(position, operators::arithmetic(operator, left, right))
            }
            // Handled before: they look at one side first.
            Operator::Or | Operator::And | Operator::Otherwise => Ok(Value::Nil),
        }
    }

    /// Comparing long lists is work; and what was known to be alike must be.
    fn compared(&mut self, position: usize, left: &Value, right: &Value) -> Result<(), Halt> {
        match (left, right) {
            (Value::Integer(_), Value::Integer(_)) | (Value::Text(_), Value::Text(_)) => Ok(()),
            _ if self.strict.contains(&position) => {
                failed(position, format!("{} and {} cannot be compared here", left.kind(), right.kind()))
            }
            (Value::List(_), Value::List(_)) | (Value::Map(_), Value::Map(_)) => {
                self.work(position, left.weight().min(right.weight()))
            }
            _ => Ok(()),
        }
    }

    fn range(&mut self, position: usize, from: &Value, to: &Value) -> Result<Value, Halt> {
        let from = at(position, operators::index(from))?;
        let to = at(position, operators::index(to))?;
        let size = usize::try_from(to.wrapping_sub(from).wrapping_add(1)).unwrap_or(0);
        self.grow(position, size)?;
        self.work(position, size)?;
        let items = (0..size).map(|step| from.wrapping_add(i64::try_from(step).unwrap_or(0)));
        Ok(Value::List(items.map(Value::Integer).collect()))
    }

    fn slice(
        &mut self,
        position: usize,
        base: &Value,
        from: Option<&Value>,
        to: Option<&Value>,
    ) -> Result<Held<'a>, Halt> {
        let length = match base {
            Value::List(items) => items.len(),
            Value::Text(text) => text.len(),
            other => return failed(position, format!("{} cannot be cut into slices", other.kind())),
        };
        let length = i64::try_from(length).unwrap_or(i64::MAX);
        let from = at(position, from.map_or(Ok(0), operators::index))?;
        let to = at(position, to.map_or(Ok(length), operators::index))?;
        let back = |bound: i64| if bound < 0 { length.saturating_add(bound).max(0) } else { bound };
        let to = back(to).min(length);
        let from = back(from).min(to);
        let range = usize::try_from(from).unwrap_or(0)..usize::try_from(to).unwrap_or(0);
        match base {
            Value::Text(text) => match text.get(range) {
                Some(part) => Ok(Held::Owned(Value::Text(part.to_owned()))),
                None => failed(
                    position,
                    "the slice cuts a character of the text in two: it counts bytes".to_owned(),
                ),
            },
            Value::List(items) => {
                let part = items.get(range).unwrap_or_default();
                self.work(position, part.iter().map(Value::weight).fold(1, usize::saturating_add))?;
                Ok(Held::Owned(Value::List(part.to_vec())))
            }
            _ => Ok(Held::Borrowed(ABSENT)),
        }
    }
}

/// `matches` of nil is false, of a text what the pattern says.
fn matched<'a>(
    position: usize,
    text: &Value,
    says: impl FnOnce(&str) -> Result<bool, String>,
) -> Result<Held<'a>, Halt> {
    match text {
        Value::Nil => Ok(Held::Owned(Value::Bool(false))),
        Value::Text(text) => at(position, says(text)).map(|found| Held::Owned(Value::Bool(found))),
        other => failed(position, format!("`matches` needs a text, not {}", other.kind())),
    }
}

/// A field or an item.
fn member<'v>(base: &'v Value, property: &Value) -> Result<&'v Value, String> {
    match base {
        Value::Map(fields) => operators::field(fields, property),
        Value::List(items) => {
            let index = operators::index(property)?;
            item(items, index)
                .ok_or_else(|| format!("there is no item {index}: the list has {}", items.len()))
        }
        Value::Text(_) => Err("a text has no items here: cut it with a slice, as in [0:1]".to_owned()),
        Value::Nil => Err("nil has no fields: use ?. or ?? where a value may be missing".to_owned()),
        Value::Bool(_) | Value::Integer(_) | Value::Float(_) | Value::Moment(_) | Value::Duration(_) => {
            Err(format!("{} has no fields", base.kind()))
        }
    }
}

/// An item, counted from the end if negative.
pub(super) fn item(items: &[Value], index: i64) -> Option<&Value> {
    let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
    let index = if index < 0 { length.checked_add(index)? } else { index };
    items.get(usize::try_from(index).ok()?)
}
