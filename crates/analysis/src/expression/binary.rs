//! Operators between two values.

use super::evaluate::{Evaluator, Halt, at, failed};
use super::held::Held;
use super::meter::effort;
use super::operators;
use super::pattern::{Draft, Pattern};
use super::sets::Set;
use super::syntax::{Node, Operator};
use super::value::Value;

fn text_length(value: &Value) -> usize {
    if let Value::Text(text) = value { text.len() } else { 0 }
}

impl<'a> Evaluator<'a> {
    pub(super) fn binary(
        &mut self,
        position: usize,
        operator: Operator,
        left: &'a Node,
        right: &'a Node,
    ) -> Result<Held<'a>, Halt> {
        match operator {
            Operator::Or => return self.logic(left, right, true),
            Operator::And => return self.logic(left, right, false),
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
            self.meet(position, &needle)?;
            self.work(position, set.len())?;
            return at(position, set.has(&needle)).map(|found| Held::Owned(Value::Bool(found)));
        }
        let left = self.visit(left)?;
        let right = self.visit(right)?;
        self.compute(position, operator, &left, &right).map(Held::Owned)
    }

    /// `||` and `&&`: one side that says `decisive` is enough.
    fn logic(&mut self, left: &'a Node, right: &'a Node, decisive: bool) -> Result<Held<'a>, Halt> {
        let before = std::mem::take(&mut self.met_nan);
        let left_decides = self.truth(left)? == decisive;
        let met_left = std::mem::replace(&mut self.met_nan, before);
        if left_decides && !met_left {
            return Ok(Held::Owned(Value::Bool(decisive)));
        }
        // A side that decides and came upon NaN for that decides nonetheless, as in the library. But if the other one says
        // the same without, it is proved.
        self.met_nan = false;
        let right = self.visit(right);
        let met_right = std::mem::replace(&mut self.met_nan, before);
        let proved = matches!(right.as_deref(), Ok(Value::Bool(said)) if *said == decisive && !met_right);
        self.met_nan |= (met_left || met_right) && !proved;
        // The library has not looked at the right side then, so that it cannot be evaluated is no error.
        if left_decides { Ok(Held::Owned(Value::Bool(decisive))) } else { right }
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
        if let (Value::Text(left), Value::Text(right)) = (left, right) {
            self.work(position, effort(left.len().saturating_add(right.len())))?;
        }
        if operator.compares() || matches!(operator, Operator::Equal | Operator::NotEqual | Operator::In) {
            self.meet(position, left)?;
            self.meet(position, right)?;
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
                self.work(position, effort(text_length(left)))?;
                at(position, operators::contains(left, right)).map(Value::Bool)
            }
            Operator::Matches => match (left, right) {
                (_, Value::Text(pattern)) if *left != Value::Nil => {
                    let draft = at(position, Draft::of(pattern))?;
                    self.work(position, draft.steps())?;
                    let pattern = at(position, draft.compiled())?;
                    self.matched(position, left, &pattern).map(Value::Bool)
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
            // Of two that are not equally long nothing is looked at. Otherwise no more than all of the one that is
            // weighed for that, and weighing is a walk, too.
            (Value::List(one), Value::List(two)) if one.len() == two.len() => {
                self.work(position, left.weight())
            }
            (Value::Map(one), Value::Map(two)) if one.len() == two.len() => {
                self.work(position, left.weight())
            }
            _ => Ok(()),
        }
    }

    /// `matches` of nil is false, of a text what the pattern says.
    pub(super) fn matched(&mut self, position: usize, text: &Value, pattern: &Pattern) -> Result<bool, Halt> {
        match text {
            Value::Nil => Ok(false),
            Value::Text(text) => {
                self.work(position, pattern.steps(text.len()))?;
                Ok(pattern.matches(text))
            }
            other => failed(position, format!("`matches` needs a text, not {}", other.kind())),
        }
    }

    fn range(&mut self, position: usize, from: &Value, to: &Value) -> Result<Value, Halt> {
        let from = at(position, operators::index(from))?;
        let to = at(position, operators::index(to))?;
        let size = usize::try_from(to.wrapping_sub(from).wrapping_add(1)).unwrap_or(0);
        self.grow(position, size)?;
        // Counting on is cheaper than anything else.
        self.work(position, size / 4)?;
        let items = (0..size).map(|step| from.wrapping_add(i64::try_from(step).unwrap_or(0)));
        Ok(Value::List(items.map(Value::Integer).collect()))
    }
}
