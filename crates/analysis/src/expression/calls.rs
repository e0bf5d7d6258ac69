//! Calls of functions without a predicate.

use std::collections::BTreeMap;

use super::evaluate::{Evaluator, Halt, at, failed};
use super::functions::{Function, Signature};
use super::held::Held;
use super::meter::effort;
use super::parts::item;
use super::syntax::{Node, Operator};
use super::value::{MAP, Value};
use super::{numbers, operators, sorting, texts, time, written};

pub(super) fn call<'a>(
    evaluator: &mut Evaluator<'a>,
    position: usize,
    signature: &'static Signature,
    arguments: &'a [Node],
) -> Result<Held<'a>, Halt> {
    let mut given = Vec::with_capacity(arguments.len());
    for argument in arguments {
        given.push(evaluator.visit(argument)?);
    }
    let mut call = Call { evaluator, position, function: signature.function, given };
    call.read()?;
    match signature.function {
        // These hand on what they are given, without a copy.
        Function::First => call.end(0),
        Function::Last => call.end(-1),
        Function::Get => call.get(),
        Function::Default => Ok(call.otherwise()),
        _ => call.value().map(Held::Owned).map_err(|halt| named(halt, signature.name)),
    }
}

/// Which function it was.
fn named(halt: Halt, name: &str) -> Halt {
    match halt {
        Halt::Failed(mut problem) => {
            problem.message = format!("`{name}`: {}", problem.message);
            Halt::Failed(problem)
        }
        Halt::Absent => Halt::Absent,
    }
}

struct Call<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    position: usize,
    function: Function,
    given: Vec<Held<'a>>,
}

impl<'a> Call<'_, 'a> {
    /// Every text that is given is looked at once; what `trim` takes off is, for each character.
    fn read(&mut self) -> Result<(), Halt> {
        let length = |held: &Held<'_>| if let Value::Text(text) = &**held { text.len() } else { 0 };
        let all = self.given.iter().map(length).fold(0, usize::saturating_add);
        let each = match (self.function, self.given.as_slice()) {
            (Function::Trim, [whole, cut]) => length(whole).saturating_mul(length(cut)),
            _ => 0,
        };
        self.evaluator.work(self.position, effort(all.saturating_add(each)))
    }

    fn argument(&self, index: usize) -> &Value {
        self.given.get(index).map_or(&Value::Nil, |held| held)
    }

    /// The first or the last item; nil if there is none.
    fn end(&mut self, index: i64) -> Result<Held<'a>, Halt> {
        let Some(list) = self.given.pop() else { return Ok(Held::Owned(Value::Nil)) };
        match &*list {
            Value::List(items) if !items.is_empty() => {
                self.evaluator.part(self.position, &list, |value| pick(value, index))
            }
            Value::Text(text) if !text.is_empty() => failed(self.position, no_bytes()),
            _ => Ok(Held::Owned(Value::Nil)),
        }
    }

    fn get(&mut self) -> Result<Held<'a>, Halt> {
        let (Some(key), Some(base)) = (self.given.pop(), self.given.pop()) else {
            return Ok(Held::Owned(Value::Nil));
        };
        let missing = match &*base {
            Value::List(items) => item(items, at(self.position, operators::index(&key))?).is_none(),
            Value::Map(fields) => !fields.contains_key(at(self.position, operators::key(&key))?),
            Value::Text(text) => {
                let index = at(self.position, operators::index(&key))?;
                let length = i64::try_from(text.len()).unwrap_or(i64::MAX);
                if (-length..length).contains(&index) {
                    return failed(self.position, no_bytes());
                }
                true
            }
            Value::Moment(_) | Value::Duration(_) if matches!(*key, Value::Text(_)) => {
                return failed(self.position, "write the method of a time as .Name()".to_owned());
            }
            _ => true,
        };
        if missing {
            return Ok(Held::Owned(Value::Nil));
        }
        self.evaluator.part(self.position, &base, |value| match value {
            Value::Map(fields) => operators::field(fields, &key),
            other => pick(other, operators::index(&key)?),
        })
    }

    fn otherwise(&mut self) -> Held<'a> {
        let (instead, value) = (self.given.pop(), self.given.pop());
        match (value, instead) {
            (Some(value), _) if *value != Value::Nil => value,
            (_, Some(instead)) => instead,
            _ => Held::Owned(Value::Nil),
        }
    }

    fn value(&mut self) -> Result<Value, Halt> {
        let position = self.position;
        if self.function.compares() {
            for given in &self.given {
                self.evaluator.meet(position, given)?;
            }
        }
        match self.function {
            Function::Length => at(position, self.length()),
            Function::Type => Ok(Value::Text(type_of(self.argument(0)).to_owned())),
            Function::Now => Ok(Value::Moment(self.evaluator.environment.now)),
            Function::Duration => at(position, self.text(0).and_then(time::duration)),
            Function::Date => at(position, self.text(0).and_then(time::date)),
            Function::IsNil => Ok(Value::Bool(*self.argument(0) == Value::Nil)),
            Function::Text => {
                self.evaluator.work(position, self.argument(0).weight())?;
                let text = at(position, written::plain(self.argument(0)))?;
                self.written(text)
            }
            Function::ToJson => {
                self.evaluator.work(position, self.argument(0).weight())?;
                let text = at(position, written::json(self.argument(0)))?;
                self.written(text)
            }
            Function::FromJson => self.read_json(),
            Function::Trim
            | Function::TrimPrefix
            | Function::TrimSuffix
            | Function::Upper
            | Function::Lower
            | Function::Split
            | Function::SplitAfter
            | Function::Replace
            | Function::Repeat
            | Function::Join
            | Function::IndexOf
            | Function::LastIndexOf
            | Function::HasPrefix
            | Function::HasSuffix
            | Function::ToBase64
            | Function::FromBase64 => self.of_texts(),
            Function::Take
            | Function::Keys
            | Function::Values
            | Function::ToPairs
            | Function::FromPairs
            | Function::Reverse
            | Function::Unique
            | Function::Concat
            | Function::Flatten
            | Function::Sort => self.of_lists(),
            Function::Greatest | Function::Least | Function::Mean | Function::Median => {
                let weight = self.given.iter().map(|held| held.weight()).fold(0, usize::saturating_add);
                self.evaluator.work(position, weight)?;
                at(position, numbers::aggregate(self.function, self.given.iter().map(|held| &**held)))
            }
            // Handled before, without a copy.
            Function::First | Function::Last | Function::Get | Function::Default => Ok(Value::Nil),
            function => at(position, numbers::compute(function, self.argument(0), self.argument(1))),
        }
    }

    fn written(&mut self, text: String) -> Result<Value, Halt> {
        self.evaluator.write(self.position, text.len())?;
        Ok(Value::Text(text))
    }

    fn length(&self) -> Result<Value, String> {
        let length = match self.argument(0) {
            Value::Text(text) => text.chars().count(),
            Value::List(items) => items.len(),
            Value::Map(fields) => fields.len(),
            other => return Err(format!("{} has no length", other.kind())),
        };
        Ok(Value::Integer(i64::try_from(length).unwrap_or(i64::MAX)))
    }

    fn text(&self, index: usize) -> Result<&str, String> {
        match self.argument(index) {
            Value::Text(text) => Ok(text),
            other => Err(format!("a text is expected, not {}", other.kind())),
        }
    }

    fn read_json(&mut self) -> Result<Value, Halt> {
        let text = at(self.position, self.text(0))?;
        // As much as can come of it, which takes far more room than the text.
        let most = text.bytes().fold(1_usize, |most, byte| match byte {
            b',' | b'[' | b':' => most.saturating_add(1),
            b'{' => most.saturating_add(MAP),
            _ => most,
        });
        let length = text.len();
        self.evaluator.grow(self.position, most)?;
        self.evaluator.work(self.position, most)?;
        self.evaluator.write(self.position, length)?;
        match serde_json::from_str::<serde_json::Value>(at(self.position, self.text(0))?) {
            Ok(json) => Ok(Value::from(json)),
            Err(error) => failed(self.position, format!("the text is not JSON: {error}")),
        }
    }

    fn of_texts(&mut self) -> Result<Value, Halt> {
        if let (Function::Join, Value::List(items)) = (self.function, self.argument(0)) {
            let walked = items.len();
            self.evaluator.work(self.position, walked)?;
        }
        let arguments: Vec<&Value> = self.given.iter().map(|held| &**held).collect();
        let planned = at(self.position, texts::size(self.function, &arguments))?;
        self.evaluator.write(self.position, planned)?;
        match self.function {
            // The library counts these characters as values.
            Function::Repeat => self.evaluator.grow(self.position, planned)?,
            Function::Split | Function::SplitAfter => {
                let most = at(self.position, texts::parts(&arguments))?;
                self.evaluator.grow(self.position, most)?;
                self.evaluator.work(self.position, most)?;
            }
            _ => {}
        }
        at(self.position, texts::compute(self.function, &arguments))
    }

    fn list(&self, index: usize) -> Result<&[Value], String> {
        match self.argument(index) {
            Value::List(items) => Ok(items),
            other => Err(format!("a list is expected, not {}", other.kind())),
        }
    }

    fn fields(&self) -> Result<&BTreeMap<String, Value>, String> {
        match self.argument(0) {
            Value::Map(fields) => Ok(fields),
            other => Err(format!("a map is expected, not {}", other.kind())),
        }
    }

    fn of_lists(&mut self) -> Result<Value, Halt> {
        let position = self.position;
        let weight = self.given.iter().map(|held| held.weight()).fold(0, usize::saturating_add);
        self.evaluator.work(position, weight)?;
        let list = match self.function {
            Function::FromPairs => return at(position, self.list(0).and_then(from_pairs)),
            Function::Take => {
                let count = match self.argument(1) {
                    Value::Integer(count) => *count,
                    Value::Duration(duration) => time::nanoseconds(*duration),
                    _ => return failed(position, "how many must be an integer".to_owned()),
                };
                let Ok(count) = usize::try_from(count) else {
                    return failed(position, "fewer than none cannot be taken".to_owned());
                };
                at(position, self.list(0))?.iter().take(count).cloned().collect()
            }
            Function::Keys => at(position, self.fields())?.keys().cloned().map(Value::Text).collect(),
            Function::Values => at(position, self.fields())?.values().cloned().collect(),
            Function::ToPairs => at(position, self.fields())?
                .iter()
                .map(|(name, field)| Value::List(vec![Value::Text(name.clone()), field.clone()]))
                .collect(),
            Function::Reverse => at(position, self.list(0))?.iter().rev().cloned().collect(),
            Function::Unique => self.unique()?,
            Function::Concat => {
                let mut all = Vec::new();
                for index in 0..self.given.len() {
                    all.extend_from_slice(at(position, self.list(index))?);
                }
                all
            }
            Function::Flatten => {
                let mut flat = Vec::new();
                flatten(at(position, self.list(0))?, &mut flat);
                flat
            }
            _ => self.sort()?,
        };
        self.evaluator.grow(position, list.len())?;
        Ok(Value::List(list))
    }

    fn unique(&mut self) -> Result<Vec<Value>, Halt> {
        let mut kept: Vec<Value> = Vec::new();
        let mut weight = 0;
        for index in 0..at(self.position, self.list(0))?.len() {
            self.evaluator.work(self.position, weight)?;
            let items = at(self.position, self.list(0))?;
            if let Some(item) = items.get(index)
                && !kept.iter().any(|known| operators::equal(item, known))
            {
                weight += item.weight();
                kept.push(item.clone());
            }
        }
        Ok(kept)
    }

    fn sort(&mut self) -> Result<Vec<Value>, Halt> {
        let order = match self.given.get(1) {
            None => sorting::Order::Ascending,
            Some(order) => at(self.position, sorting::Order::named(order))?,
        };
        self.evaluator.work(self.position, sorting::steps(self.argument(0).weight()))?;
        let pairs = at(self.position, self.list(0))?.iter().map(|item| (item.clone(), Value::Nil)).collect();
        let sorted = at(self.position, sorting::sorted(pairs, order))?;
        Ok(sorted.into_iter().map(|(item, _)| item).collect())
    }
}

fn pick(value: &Value, index: i64) -> Result<&Value, String> {
    match value {
        Value::List(items) => item(items, index).ok_or_else(|| "there is no such item".to_owned()),
        other => Err(format!("{} has no items", other.kind())),
    }
}

fn no_bytes() -> String {
    "a text has no items here: cut it with a slice, as in [0:1]".to_owned()
}

fn from_pairs(pairs: &[Value]) -> Result<Value, String> {
    let mut fields = BTreeMap::new();
    for pair in pairs {
        match pair {
            Value::List(pair) => match pair.as_slice() {
                [Value::Text(name), value] => {
                    fields.insert(name.clone(), value.clone());
                }
                [other, _] => {
                    return Err(format!(
                        "the name of a field is a text here, not {}: use string(…)",
                        other.kind()
                    ));
                }
                _ => return Err("a pair is a list of two".to_owned()),
            },
            other => return Err(format!("a pair is a list of two, not {}", other.kind())),
        }
    }
    Ok(Value::Map(fields))
}

fn flatten(items: &[Value], flat: &mut Vec<Value>) {
    for item in items {
        match item {
            Value::List(inner) => flatten(inner, flat),
            other => flat.push(other.clone()),
        }
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Nil => "nil",
        Value::Bool(_) => "bool",
        Value::Integer(_) => "int",
        Value::Float(_) => "float",
        Value::Text(_) => "string",
        Value::List(_) => "array",
        Value::Map(_) => "map",
        Value::Moment(_) => "time.Time",
        Value::Duration(_) => "time.Duration",
    }
}

/// The operator that keeps the greater, or the lesser.
pub(super) fn keeps(function: Function) -> Operator {
    if function == Function::Greatest { Operator::Less } else { Operator::More }
}
