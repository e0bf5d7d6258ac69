//! Finds what cannot work before it is evaluated: texts that are added to numbers, fields of numbers, predicates that are
//! no conditions. Without knowing the result when a template is admitted, and once more with its kind for each measurement.

use std::collections::BTreeSet;

use super::functions::{Function, Gives, Signature, Wants};
use super::nature::Nature;
use super::syntax::{Kind, Loop, Node, Operator, Over, Pointer};
use super::{Problem, time};

use Nature as N;

/// What is known of an expression that can be evaluated.
pub(super) struct Checked {
    pub(super) nature: Nature,
    /// Where two integers or two texts are compared for sure, or an integer is looked for. The library does that without
    /// looking at kinds, which shows if a value is not what it was known to be, as the index of nothing found.
    pub(super) strict: BTreeSet<usize>,
    /// `isNaN` is called somewhere.
    pub(super) asks_for_nan: bool,
}

/// Checks a whole expression, given the nature of the result.
pub(super) fn check(node: &Node, result: &Nature) -> Result<Checked, Problem> {
    let mut checker = Checker {
        result,
        variables: Vec::new(),
        collections: Vec::new(),
        strict: BTreeSet::new(),
        asks_for_nan: false,
    };
    let nature = checker.visit(node)?;
    Ok(Checked { nature, strict: checker.strict, asks_for_nan: checker.asks_for_nan })
}

struct Checker<'a> {
    result: &'a Nature,
    variables: Vec<(&'a str, Nature)>,
    /// What the predicates around this spot go over, innermost last.
    collections: Vec<Nature>,
    strict: BTreeSet<usize>,
    asks_for_nan: bool,
}

impl<'a> Checker<'a> {
    fn visit(&mut self, node: &'a Node) -> Result<Nature, Problem> {
        let position = node.position;
        Ok(match &node.kind {
            Kind::Literal(value) => N::of(value),
            Kind::Result => self.result.clone(),
            Kind::Variable(name) => self
                .variables
                .iter()
                .rev()
                .find(|(known, _)| known == name)
                .map_or(N::Unknown, |(_, nature)| nature.clone()),
            Kind::Not(inner) => match self.visit(inner)? {
                N::Bool | N::Unknown | N::Any => N::Bool,
                other => return problem(position, format!("`not` needs a condition, not {}", other.shown())),
            },
            Kind::Negative(inner) | Kind::Positive(inner) => match self.visit(inner)? {
                number @ (N::Integer | N::Float) => number,
                N::Unknown | N::Any => N::Unknown,
                other => return problem(position, format!("a sign needs a number, not {}", other.shown())),
            },
            Kind::Binary(operator, left, right) => {
                let (left, right) = (self.visit(left)?, self.visit(right)?);
                let alike = matches!((&left, &right), (N::Integer, N::Integer) | (N::Text, N::Text));
                if alike || (*operator == Operator::In && left == N::Integer) {
                    self.strict.insert(position);
                }
                return binary(position, *operator, &left, &right);
            }
            Kind::Matches(text, _) => match self.visit(text)? {
                N::Text | N::Unknown | N::Any => N::Bool,
                other => return problem(position, format!("`matches` needs a text, not {}", other.shown())),
            },
            Kind::Chain(inner) => self.visit(inner)?,
            Kind::Member { base, property, .. } => {
                let (base, property) = (self.visit(base)?, self.visit(property)?);
                return member(position, &base, &property);
            }
            Kind::Slice { base, from, to } => {
                return self.slice(position, base, from.as_deref(), to.as_deref());
            }
            Kind::Call(signature, arguments) => return self.call(position, signature, arguments),
            Kind::Method { base, name, arguments, .. } => {
                return self.method(position, base, name, arguments);
            }
            Kind::Loop(over) => return self.walk(over),
            Kind::Pointer(Pointer::Item) => self.collections.last().map_or(N::Unknown, Nature::item),
            Kind::Pointer(Pointer::Index) => N::Integer,
            Kind::Pointer(Pointer::Accumulated) => N::Unknown,
            Kind::Let { name, value, body } => {
                let value = self.visit(value)?;
                self.variables.push((name, value));
                let body = self.visit(body);
                self.variables.pop();
                body?
            }
            Kind::Sequence(nodes) => {
                let mut last = N::Unknown;
                for node in nodes {
                    last = self.visit(node)?;
                }
                last
            }
            Kind::Conditional(parts) => {
                let [condition, yes, no] = &**parts;
                return self.conditional(condition, yes, no);
            }
            Kind::List(items) => self.list(items)?,
            Kind::Map(pairs) => {
                for (key, value) in pairs {
                    self.visit(key)?;
                    self.visit(value)?;
                }
                N::map(false)
            }
        })
    }

    fn list(&mut self, items: &'a [Node]) -> Result<Nature, Problem> {
        let mut same: Option<Nature> = None;
        let mut mixed = false;
        for item in items {
            let item = self.visit(item)?;
            mixed |= same.as_ref().is_some_and(|same| !same.is_of_kind(&item));
            same = Some(item);
        }
        Ok(N::list_of(if mixed { N::Any } else { same.unwrap_or(N::Unknown) }))
    }

    fn slice(
        &mut self,
        position: usize,
        base: &'a Node,
        from: Option<&'a Node>,
        to: Option<&'a Node>,
    ) -> Result<Nature, Problem> {
        let nature = self.visit(base)?;
        match nature {
            N::Unknown | N::Any => return Ok(N::Unknown),
            N::Text | N::List(_) => {}
            other => return problem(position, format!("{} cannot be cut into slices", other.shown())),
        }
        for bound in [from, to].into_iter().flatten() {
            match self.visit(bound)? {
                N::Integer | N::Unknown | N::Any => {}
                other => {
                    return problem(
                        bound.position,
                        format!("the bounds of a slice are integers, not {}", other.shown()),
                    );
                }
            }
        }
        Ok(nature)
    }

    fn conditional(&mut self, condition: &'a Node, yes: &'a Node, no: &'a Node) -> Result<Nature, Problem> {
        match self.visit(condition)? {
            N::Bool | N::Unknown | N::Any => {}
            other => {
                return problem(
                    condition.position,
                    format!("a condition is expected, not {}", other.shown()),
                );
            }
        }
        Ok(match (self.visit(yes)?, self.visit(no)?) {
            (N::Nil, other) | (other, N::Nil) => other,
            (N::List(one), N::List(two)) if !(one.fits(&two) && two.fits(&one)) => N::list_of(N::Any),
            (one, two) if one.fits(&two) => one,
            _ => N::Unknown,
        })
    }

    fn method(
        &mut self,
        position: usize,
        base: &'a Node,
        name: &'a str,
        arguments: &'a [Node],
    ) -> Result<Nature, Problem> {
        let nature = self.visit(base)?;
        for argument in arguments {
            self.visit(argument)?;
        }
        match nature {
            // What a field of a map is shows when it is there.
            N::Unknown | N::Any | N::Map { .. } => Ok(N::Unknown),
            N::Moment | N::Duration => {
                time::method(&nature, name, arguments.len()).map_err(|message| Problem { position, message })
            }
            other => problem(position, format!("{} has no method `{name}`", other.shown())),
        }
    }

    fn call(
        &mut self,
        position: usize,
        signature: &'static Signature,
        arguments: &'a [Node],
    ) -> Result<Nature, Problem> {
        let natures = arguments.iter().map(|argument| self.visit(argument)).collect::<Result<Vec<_>, _>>()?;
        self.asks_for_nan |= signature.function == Function::IsNan;
        if signature.function == Function::Get {
            return get(position, &natures);
        }
        for (index, nature) in natures.iter().enumerate() {
            let Some(wants) = signature.wants(index) else { continue };
            let fits = nature.is_unknown() || accepts(wants, nature);
            if !fits {
                let place = arguments.get(index).map_or(position, |argument| argument.position);
                let found = nature.shown();
                return problem(place, format!("`{}` cannot use {found} here", signature.name));
            }
            // A list or an unknown value among the numbers: the rest is looked at when it is there.
            if wants == Wants::Aggregate && !matches!(nature, N::Integer | N::Float | N::Duration) {
                return Ok(N::Any);
            }
        }
        let first = natures.into_iter().next();
        Ok(match signature.gives {
            Gives::Bool => N::Bool,
            Gives::Integer => N::Integer,
            Gives::Float => N::Float,
            Gives::Text => N::Text,
            Gives::Moment => N::Moment,
            Gives::Duration => N::Duration,
            Gives::List => N::list_of(N::Any),
            Gives::Texts => N::list_of(N::Text),
            Gives::MapOfAnyKey => N::map(true),
            Gives::SameAsFirst => first.filter(|first| !first.is_unknown()).unwrap_or(N::Any),
            Gives::ListLikeFirst if first.is_some_and(|first| first.is_list()) => N::list_of(N::Any),
            Gives::Anything | Gives::ListLikeFirst => N::Any,
        })
    }

    fn walk(&mut self, walk: &'a Loop) -> Result<Nature, Problem> {
        let name = walk.over.name();
        let collection = self.visit(&walk.collection)?;
        if !collection.is_list() && !collection.is_unknown() {
            return problem(
                walk.collection.position,
                format!("`{name}` goes over a list, not {}", collection.shown()),
            );
        }
        let asked = match &walk.predicate {
            None => None,
            Some(predicate) => {
                self.collections.push(collection.clone());
                let nature = self.visit(predicate);
                self.collections.pop();
                match nature? {
                    N::Nil => return problem(predicate.position, format!("`{name}` cannot use nil here")),
                    nature => Some((predicate.position, nature)),
                }
            }
        };
        if let Some(extra) = &walk.extra {
            let nature = self.visit(extra)?;
            if walk.over == Over::SortBy && !matches!(nature, N::Text | N::Unknown | N::Any) {
                return problem(extra.position, "the order is \"asc\" or \"desc\"".to_owned());
            }
        }
        outcome(walk.over, &collection, asked)
    }
}

/// What a function with a predicate gives.
fn outcome(over: Over, collection: &Nature, asked: Option<(usize, Nature)>) -> Result<Nature, Problem> {
    if let (false, Some((place, nature))) = (
        matches!(over, Over::Map | Over::Sum | Over::GroupBy | Over::SortBy | Over::Reduce),
        asked.as_ref().filter(|(_, nature)| !matches!(nature, N::Bool | N::Unknown | N::Any)),
    ) {
        return problem(
            *place,
            format!("`{}` needs a condition for each item, not {}", over.name(), nature.shown()),
        );
    }
    let asked = asked.map(|(_, nature)| nature);
    Ok(match over {
        Over::All | Over::None | Over::Any | Over::One => N::Bool,
        Over::Filter if collection.is_unknown() => N::list_of(N::Any),
        Over::Filter => N::list_of(collection.item()),
        Over::Map => N::list_of(asked.unwrap_or(N::Unknown)),
        Over::Count { .. } | Over::FindIndex | Over::FindLastIndex => N::Integer,
        // What a predicate gives without being known may be anything.
        Over::Sum => match asked {
            Some(N::Unknown) => N::Any,
            Some(known) => known,
            None => collection.item(),
        },
        Over::Find { .. } | Over::FindLast { .. } => collection.item(),
        Over::GroupBy => N::Map { any_key: true, item: Box::new(N::list_of(N::Any)) },
        Over::SortBy => collection.clone(),
        Over::Reduce => asked.unwrap_or(N::Unknown),
    })
}

fn problem<T>(position: usize, message: String) -> Result<T, Problem> {
    Err(Problem { position, message })
}

fn accepts(wants: Wants, nature: &Nature) -> bool {
    match wants {
        Wants::Anything | Wants::Unchecked => true,
        Wants::Text => *nature == N::Text,
        Wants::Integer => *nature == N::Integer,
        Wants::Float => nature.is_number(),
        Wants::Number => nature.is_number() || *nature == N::Duration,
        Wants::NumberOrText => nature.is_number() || matches!(nature, N::Text | N::Duration),
        Wants::List => nature.is_list(),
        Wants::Map => matches!(nature, N::Map { .. }),
        Wants::Count => matches!(nature, N::Integer | N::Duration),
        Wants::Sized => matches!(nature, N::List(_) | N::Map { .. } | N::Text),
        Wants::Aggregate => nature.is_number() || nature.is_list() || *nature == N::Duration,
    }
}

fn get(position: usize, natures: &[Nature]) -> Result<Nature, Problem> {
    match natures {
        [N::Unknown | N::Any, _] => Ok(N::Unknown),
        [list @ N::List(_), N::Integer | N::Unknown | N::Any] => Ok(list.item()),
        [map @ N::Map { any_key, .. }, key] if *any_key || matches!(key, N::Text | N::Unknown | N::Any) => {
            Ok(map.item())
        }
        [base, key] => problem(position, format!("`get` cannot take {} from {}", key.shown(), base.shown())),
        _ => problem(position, "`get` takes 2 arguments".to_owned()),
    }
}

fn member(position: usize, base: &Nature, property: &Nature) -> Result<Nature, Problem> {
    let fits = match base {
        N::Unknown | N::Any => return Ok(N::Unknown),
        N::Map { any_key, .. } => *any_key || matches!(property, N::Text | N::Unknown | N::Any),
        N::List(_) => matches!(property, N::Integer | N::Unknown | N::Any),
        N::Nil | N::Bool | N::Integer | N::Float | N::Text | N::Moment | N::Duration => false,
    };
    if fits {
        return Ok(base.item());
    }
    let (base, property) = (base.shown(), property.shown());
    problem(position, format!("{base} has nothing that {property} could take from it"))
}

fn binary(position: usize, operator: Operator, left: &Nature, right: &Nature) -> Result<Nature, Problem> {
    let both = |wanted: &Nature| *left == *wanted && *right == *wanted;
    let numbers = left.is_number() && right.is_number();
    let ordered = |nature: &Nature| nature.is_number() || matches!(nature, N::Text | N::Moment | N::Duration);
    let fits = match operator {
        Operator::Equal | Operator::NotEqual => left.comparable_to(right).then_some(N::Bool),
        Operator::Or | Operator::And => {
            (both(&N::Bool) || left.maybe(right, |nature| *nature == N::Bool)).then_some(N::Bool)
        }
        Operator::Less | Operator::More | Operator::LessOrEqual | Operator::MoreOrEqual => (numbers
            || both(&N::Text)
            || both(&N::Moment)
            || both(&N::Duration)
            || left.maybe(right, ordered))
        .then_some(N::Bool),
        Operator::In => return among(position, left, right),
        Operator::Matches | Operator::Contains | Operator::StartsWith | Operator::EndsWith => {
            (both(&N::Text) || left.maybe(right, |nature| *nature == N::Text)).then_some(N::Bool)
        }
        Operator::Range => (both(&N::Integer) || left.maybe(right, |nature| *nature == N::Integer))
            .then(|| N::list_of(N::Integer)),
        Operator::Add | Operator::Subtract | Operator::Multiply => arithmetic(operator, left, right),
        Operator::Divide | Operator::Power => {
            (numbers || left.maybe(right, Nature::is_number)).then_some(N::Float)
        }
        Operator::Modulo => {
            (both(&N::Integer) || left.maybe(right, |nature| *nature == N::Integer)).then_some(N::Integer)
        }
        Operator::Otherwise => Some(match (left, right) {
            (N::Nil, other) => other.clone(),
            (_, N::Nil) => left.clone(),
            (left, right) if right.fits(left) => left.clone(),
            _ => N::Unknown,
        }),
    };
    match fits {
        Some(nature) => Ok(nature),
        None => problem(
            position,
            format!("`{}` does not go with {} and {}", operator.sign(), left.shown(), right.shown()),
        ),
    }
}

fn arithmetic(operator: Operator, left: &Nature, right: &Nature) -> Option<Nature> {
    Some(match (operator, left, right) {
        (_, N::Integer, N::Integer) => N::Integer,
        (_, N::Integer | N::Float, N::Integer | N::Float) => N::Float,
        (Operator::Add, N::Text, N::Text) => N::Text,
        (Operator::Add | Operator::Subtract, N::Moment, N::Duration)
        | (Operator::Add, N::Duration, N::Moment) => N::Moment,
        (Operator::Subtract, N::Moment, N::Moment)
        | (_, N::Duration, N::Duration)
        | (Operator::Multiply, N::Duration, N::Integer | N::Float)
        | (Operator::Multiply, N::Integer | N::Float, N::Duration) => N::Duration,
        _ => {
            let wanted = |nature: &Nature| match nature {
                N::Integer | N::Float | N::Duration => true,
                N::Text => operator == Operator::Add,
                N::Moment => operator != Operator::Multiply,
                _ => false,
            };
            return left.maybe(right, wanted).then_some(N::Unknown);
        }
    })
}

fn among(position: usize, left: &Nature, right: &Nature) -> Result<Nature, Problem> {
    let fits = match right {
        N::Unknown | N::Any => true,
        N::Map { any_key, .. } => *any_key || matches!(left, N::Unknown | N::Any | N::Text),
        N::List(item) => left.comparable_to(item),
        // An unknown value in a text passes here, and fails when it is evaluated.
        N::Text => left.is_unknown(),
        // A time has fields, but none that can be named.
        N::Moment => matches!(left, N::Unknown | N::Any | N::Text),
        N::Nil | N::Bool | N::Integer | N::Float | N::Duration => false,
    };
    if fits {
        return Ok(N::Bool);
    }
    let hint = if *right == N::Text { ": use `contains`" } else { "" };
    problem(position, format!("{} cannot be looked for in {}{hint}", left.shown(), right.shown()))
}
