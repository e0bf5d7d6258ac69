//! What the library's optimizer changes that a user can see: constants are computed beforehand, a condition with a constant
//! side is shortened, and some searches stop early. Results are the same but for errors that no longer happen.

use super::functions::{Function, Signature, Wants};
use super::nature::Nature;
use super::operators::{arithmetic, equal};
use super::syntax::{Kind, Loop, Node, Operator, Over};
use super::value::Value;
use super::{Problem, checker};

/// The shortened tree.
pub(super) fn fold(node: Node) -> Result<Node, Problem> {
    let position = node.position;
    let fold_box = |node: Box<Node>| fold(*node).map(Box::new);
    let fold_all = |nodes: Vec<Node>| nodes.into_iter().map(fold).collect::<Result<Vec<_>, _>>();
    let kind = match node.kind {
        Kind::Not(inner) => not(fold_box(inner)?),
        Kind::Negative(inner) => negative(fold_box(inner)?),
        Kind::Positive(inner) => match fold_box(inner)?.kind {
            number @ Kind::Literal(Value::Integer(_) | Value::Float(_)) => number,
            other => Kind::Positive(Box::new(Node::new(other, position))),
        },
        Kind::Binary(Operator::In, left, right) => match *right {
            // Only a list that is constant as it stands becomes a set.
            Node { kind: Kind::List(items), position: place, .. }
                if !items.iter().all(|item| matches!(item.kind, Kind::Literal(_))) =>
            {
                let list = Node::new(Kind::List(fold_all(items)?), place);
                Kind::Binary(Operator::In, fold_box(left)?, Box::new(list))
            }
            other => Kind::Binary(Operator::In, fold_box(left)?, Box::new(fold(other)?)),
        },
        Kind::Binary(operator, left, right) => {
            return binary(position, operator, fold_box(left)?, fold_box(right)?);
        }
        Kind::Matches(text, pattern) => Kind::Matches(fold_box(text)?, pattern),
        Kind::Chain(inner) => Kind::Chain(fold_box(inner)?),
        Kind::Member { base, property, optional } => member(fold_box(base)?, fold_box(property)?, optional),
        Kind::Slice { base, from, to } => Kind::Slice {
            base: fold_box(base)?,
            from: from.map(fold_box).transpose()?,
            to: to.map(fold_box).transpose()?,
        },
        Kind::Call(signature, arguments) => call(signature, fold_all(arguments)?),
        Kind::Method { base, name, optional, arguments } => {
            Kind::Method { base: fold_box(base)?, name, optional, arguments: fold_all(arguments)? }
        }
        Kind::Loop(walk) => {
            let Loop { over, collection, predicate, extra } = *walk;
            merged(Loop {
                over,
                collection: fold(collection)?,
                predicate: predicate.map(fold).transpose()?,
                extra: extra.map(fold).transpose()?,
            })?
        }
        Kind::Let { name, value, body } => Kind::Let { name, value: fold_box(value)?, body: fold_box(body)? },
        Kind::Sequence(nodes) => Kind::Sequence(fold_all(nodes)?),
        Kind::Conditional(parts) => {
            let [condition, yes, no] = *parts;
            Kind::Conditional(Box::new([fold(condition)?, fold(yes)?, fold(no)?]))
        }
        Kind::List(items) => list(fold_all(items)?),
        Kind::Map(pairs) => Kind::Map(
            pairs
                .into_iter()
                .map(|(key, value)| Ok((fold(key)?, fold(value)?)))
                .collect::<Result<Vec<_>, Problem>>()?,
        ),
        same @ (Kind::Literal(_) | Kind::Result | Kind::Variable(_) | Kind::Pointer(_)) => same,
    };
    Ok(Node::new(kind, position))
}

/// A filter of a filter is one filter.
fn merged(walk: Loop) -> Result<Kind, Problem> {
    let (inner, outer) = match (walk.over, walk.collection, walk.predicate) {
        (Over::Filter, Node { kind: Kind::Loop(inner), .. }, Some(outer)) if inner.over == Over::Filter => {
            (*inner, outer)
        }
        (_, collection, predicate) => {
            return Ok(Kind::Loop(Box::new(Loop { collection, predicate, ..walk })));
        }
    };
    let predicate = match inner.predicate {
        Some(first) => binary(outer.position, Operator::And, Box::new(first), Box::new(outer))?,
        None => outer,
    };
    Ok(Kind::Loop(Box::new(Loop { predicate: Some(predicate), ..inner })))
}

fn not(inner: Box<Node>) -> Kind {
    match inner.kind {
        Kind::Literal(Value::Bool(value)) => Kind::Literal(Value::Bool(!value)),
        _ => Kind::Not(inner),
    }
}

fn negative(inner: Box<Node>) -> Kind {
    match inner.kind {
        Kind::Literal(Value::Integer(number)) => Kind::Literal(Value::Integer(number.wrapping_neg())),
        Kind::Literal(Value::Float(number)) => Kind::Literal(Value::Float(-number)),
        _ => Kind::Negative(inner),
    }
}

fn list(items: Vec<Node>) -> Kind {
    let constant = |item: &Node| match &item.kind {
        Kind::Literal(value @ (Value::Integer(_) | Value::Float(_) | Value::Text(_) | Value::Bool(_))) => {
            Some(value.clone())
        }
        _ => None,
    };
    match items.iter().map(constant).collect::<Option<Vec<_>>>() {
        Some(values) if !values.is_empty() => Kind::Literal(Value::List(values)),
        _ => Kind::List(items),
    }
}

fn binary(position: usize, operator: Operator, left: Box<Node>, right: Box<Node>) -> Result<Node, Problem> {
    let sides = match (&left.kind, &right.kind) {
        (Kind::Literal(left), Kind::Literal(right)) => Some((left, right)),
        _ => None,
    };
    let plain = |value: &Value| matches!(value, Value::Integer(_) | Value::Float(_) | Value::Text(_));
    let truth = |node: &Node| match node.kind {
        Kind::Literal(Value::Bool(value)) => Some(value),
        _ => None,
    };
    let kind = match (operator, sides) {
        (Operator::And | Operator::Or, _) => {
            // `true && x` and `x && true` are x; `false && x` and `x && false` are false. For `||` the other way round.
            let neutral = operator == Operator::And;
            match (truth(&left), truth(&right)) {
                (Some(value), _) if value == neutral => return Ok(*right),
                (_, Some(value)) if value == neutral => return Ok(*left),
                (None, None) => Kind::Binary(operator, left, right),
                _ => Kind::Literal(Value::Bool(!neutral)),
            }
        }
        (
            Operator::Add
            | Operator::Subtract
            | Operator::Multiply
            | Operator::Divide
            | Operator::Modulo
            | Operator::Power,
            Some((one, two)),
        ) if plain(one) && plain(two) => match arithmetic(operator, one, two) {
            Ok(value) => Kind::Literal(value),
            Err(message) => return Err(Problem { position, message }),
        },
        (Operator::Equal, Some((one, two)))
            if matches!(one, Value::Integer(_) | Value::Text(_) | Value::Bool(_)) =>
        {
            let same = std::mem::discriminant(one) == std::mem::discriminant(two);
            if same {
                Kind::Literal(Value::Bool(equal(one, two)))
            } else {
                Kind::Binary(operator, left, right)
            }
        }
        _ if operator.compares() => counted(operator, left, right),
        _ => Kind::Binary(operator, left, right),
    };
    Ok(Node::new(kind, position))
}

/// `count(list, …) > 0` asks whether there is any; `count(list, …) > 3` needs to count to four.
fn counted(operator: Operator, left: Box<Node>, right: Box<Node>) -> Kind {
    let Kind::Literal(Value::Integer(limit)) = right.kind else { return Kind::Binary(operator, left, right) };
    let (position, mut walk) = match *left {
        Node { kind: Kind::Loop(walk), position, .. }
            if matches!(walk.over, Over::Count { .. }) && walk.predicate.is_some() =>
        {
            (position, walk)
        }
        other => return Kind::Binary(operator, Box::new(other), right),
    };
    if matches!((operator, limit), (Operator::More, 0) | (Operator::MoreOrEqual, 1)) {
        walk.over = Over::Any;
        return Kind::Loop(walk);
    }
    let enough = match operator {
        Operator::More | Operator::LessOrEqual => limit.saturating_add(1),
        _ => limit,
    };
    walk.over = Over::Count { enough: (limit >= 0 && enough > 1).then_some(enough) };
    Kind::Binary(operator, Box::new(Node::new(Kind::Loop(walk), position)), right)
}

/// The first of what a filter finds needs no more than the first.
fn search(node: &mut Node, over: Over) -> bool {
    match &mut node.kind {
        Kind::Loop(walk) if walk.over == Over::Filter => {
            walk.over = over;
            true
        }
        _ => false,
    }
}

fn member(mut base: Box<Node>, property: Box<Node>, optional: bool) -> Kind {
    let over = match property.kind {
        Kind::Literal(Value::Integer(0)) if !optional => Some(Over::Find { required: true }),
        Kind::Literal(Value::Integer(-1)) if !optional => Some(Over::FindLast { required: true }),
        _ => None,
    };
    if over.is_some_and(|over| search(&mut base, over)) {
        return base.kind;
    }
    Kind::Member { base, property, optional }
}

fn call(signature: &'static Signature, mut arguments: Vec<Node>) -> Kind {
    let over = match signature.function {
        Function::First => Some(Over::Find { required: false }),
        Function::Last => Some(Over::FindLast { required: false }),
        _ => None,
    };
    if let ([only], Some(over)) = (arguments.as_mut_slice(), over)
        && search(only, over)
        && let Some(only) = arguments.pop()
    {
        return only.kind;
    }
    for (index, argument) in arguments.iter_mut().enumerate() {
        if signature.wants(index) == Some(Wants::Float)
            && checker::check(argument, &Nature::Unknown)
                .is_ok_and(|checked| checked.nature == Nature::Integer)
        {
            as_floats(argument);
        }
    }
    Kind::Call(signature, arguments)
}

/// Whole numbers written where a float is expected are floats.
fn as_floats(node: &mut Node) {
    match &mut node.kind {
        Kind::Literal(value) => {
            if let Value::Integer(number) = value {
                *value = Value::Float(super::operators::float(*number));
            }
        }
        Kind::Negative(inner) | Kind::Positive(inner) | Kind::Not(inner) => as_floats(inner),
        Kind::Binary(Operator::Add | Operator::Subtract | Operator::Multiply, left, right) => {
            as_floats(left);
            as_floats(right);
        }
        _ => {}
    }
}
