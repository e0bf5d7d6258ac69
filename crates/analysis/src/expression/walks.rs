//! The functions that ask something of each item of a list.

use std::collections::BTreeMap;

use super::evaluate::{Evaluator, Halt, Scope, at, failed};
use super::held::{ABSENT, Held};
use super::meter::effort;
use super::syntax::{Kind, Loop, Node, Operator, Over};
use super::value::Value;
use super::{limits, operators, sorting};

pub(super) fn walk<'a>(
    evaluator: &mut Evaluator<'a>,
    position: usize,
    walk: &'a Loop,
) -> Result<Held<'a>, Halt> {
    if let (Over::Sum, None, Kind::List(items)) = (walk.over, &walk.predicate, &walk.collection.kind)
        && items.len() >= 2
    {
        return sum_written_out(evaluator, position, items);
    }
    let collection = evaluator.visit(&walk.collection)?;
    let items = items(evaluator, position, walk.over, collection)?;
    let mut walker = Walker { evaluator, position, predicate: walk.predicate.as_ref(), over: walk.over };
    match walk.over {
        Over::All => walker.is_decided(items, false).map(|decided| truth(!decided)),
        Over::None => walker.is_decided(items, true).map(|decided| truth(!decided)),
        Over::Any => walker.is_decided(items, true).map(truth),
        Over::One => walker.count(items, None).map(|count| truth(count == 1)),
        Over::Count { enough } => walker.count(items, enough).map(|count| Held::Owned(Value::Integer(count))),
        Over::Filter => walker.filter(items),
        Over::Map => walker.map(items),
        Over::Sum => walker.sum(items),
        Over::Find { required } | Over::FindLast { required } => walker.find(items, required),
        Over::FindIndex | Over::FindLastIndex => walker.find_index(items),
        Over::GroupBy => walker.group(items),
        Over::SortBy => walker.sort(items, walk.extra.as_ref()),
        Over::Reduce => walker.reduce(items, walk.extra.as_ref()),
    }
}

fn truth<'a>(value: bool) -> Held<'a> {
    Held::Owned(Value::Bool(value))
}

/// A sum of values that are written out is computed from the last one, without a zero at its start.
fn sum_written_out<'a>(
    evaluator: &mut Evaluator<'a>,
    position: usize,
    nodes: &'a [Node],
) -> Result<Held<'a>, Halt> {
    let mut values = Vec::with_capacity(nodes.len());
    for node in nodes {
        values.push(evaluator.visit(node)?);
    }
    let Some(mut sum) = values.pop() else { return Ok(Held::Owned(Value::Integer(0))) };
    while let Some(value) = values.pop() {
        if let (Value::Text(left), Value::Text(right)) = (&*value, &*sum) {
            evaluator.write(position, left.len() + right.len())?;
        }
        sum = Held::Owned(at(position, operators::arithmetic(Operator::Add, &value, &sum))?);
    }
    Ok(sum)
}

/// The items of a list, each cheap to copy.
fn items<'a>(
    evaluator: &mut Evaluator<'a>,
    position: usize,
    over: Over,
    collection: Held<'a>,
) -> Result<Vec<Held<'a>>, Halt> {
    let list = match collection {
        Held::Borrowed(Value::List(items)) => {
            // Nothing is copied, but each item is pointed to: cheaper than anything else, and not for nothing.
            evaluator.work(position, items.len() / 4)?;
            return Ok(items.iter().map(Held::Borrowed).collect());
        }
        Held::Owned(Value::List(items)) => items,
        Held::Shared(shared) => evaluator
            .copy(position, &shared)
            .map(|value| match value {
                Value::List(items) => Ok(items),
                other => Err(other),
            })?
            .or_else(|other| empty_or_wrong(position, over, &other))?,
        other => empty_or_wrong(position, over, &other)?,
    };
    evaluator.work(position, list.len())?;
    Ok(list.into_iter().map(|item| Held::Owned(item).shared()).collect())
}

/// Nothing to ask of an empty text or map; anything else is not a list.
fn empty_or_wrong(position: usize, over: Over, value: &Value) -> Result<Vec<Value>, Halt> {
    match value {
        Value::Text(text) if text.is_empty() => Ok(Vec::new()),
        Value::Map(fields) if fields.is_empty() => Ok(Vec::new()),
        other => failed(position, format!("`{}` goes over a list, not {}", over.name(), other.kind())),
    }
}

struct Walker<'e, 'a> {
    evaluator: &'e mut Evaluator<'a>,
    position: usize,
    predicate: Option<&'a Node>,
    over: Over,
}

impl<'a> Walker<'_, 'a> {
    /// What the predicate says of an item; the item itself if there is none.
    fn ask(&mut self, item: Held<'a>, index: usize) -> Result<Held<'a>, Halt> {
        self.ask_with(item, index, Held::Borrowed(ABSENT))
    }

    fn ask_with(&mut self, item: Held<'a>, index: usize, accumulated: Held<'a>) -> Result<Held<'a>, Halt> {
        let Some(predicate) = self.predicate else {
            self.evaluator.work(self.position, 1)?;
            return Ok(item);
        };
        self.evaluator.scopes.push(Scope { item, index, accumulated });
        let said = self.evaluator.visit(predicate);
        self.evaluator.scopes.pop();
        said
    }

    fn holds(&mut self, item: Held<'a>, index: usize) -> Result<bool, Halt> {
        match *self.ask(item, index)? {
            Value::Bool(value) => Ok(value),
            ref other => failed(
                self.predicate.map_or(self.position, |predicate| predicate.position),
                format!("`{}` needs a condition for each item, not {}", self.over.name(), other.kind()),
            ),
        }
    }

    /// What the predicate says of an item, and whether it came upon NaN for that.
    fn said(&mut self, item: Held<'a>, index: usize) -> Result<(bool, bool), Halt> {
        let before = std::mem::take(&mut self.evaluator.met_nan);
        let said = self.holds(item, index);
        let met = std::mem::replace(&mut self.evaluator.met_nan, before);
        Ok((said?, met))
    }

    /// Whether there is an item of which the predicate says this. One is enough: if it comes upon no NaN itself, that
    /// others do does not matter. So behind one that does, another is looked for.
    fn is_decided(&mut self, items: Vec<Held<'a>>, wanted: bool) -> Result<bool, Halt> {
        let (mut decided, mut met) = (false, false);
        for (index, item) in items.into_iter().enumerate() {
            match self.said(item, index) {
                Ok((said, false)) if said == wanted => return Ok(true),
                Ok((said, met_here)) => {
                    decided |= said == wanted;
                    met |= met_here;
                }
                // The library has stopped before.
                Err(_) if decided => break,
                Err(halt) => return Err(halt),
            }
        }
        self.evaluator.met_nan |= met;
        Ok(decided)
    }

    /// The first item that fits.
    fn until(&mut self, items: Vec<Held<'a>>) -> Result<Option<(usize, Held<'a>)>, Halt> {
        for (index, item) in items.into_iter().enumerate() {
            if self.holds(item.clone(), index)? {
                return Ok(Some((index, item)));
            }
        }
        Ok(None)
    }

    fn until_from_the_end(&mut self, items: Vec<Held<'a>>) -> Result<Option<(usize, Held<'a>)>, Halt> {
        for (index, item) in items.into_iter().enumerate().rev() {
            if self.holds(item.clone(), index)? {
                return Ok(Some((index, item)));
            }
        }
        Ok(None)
    }

    fn search(&mut self, items: Vec<Held<'a>>) -> Result<Option<(usize, Held<'a>)>, Halt> {
        match self.over {
            Over::FindLast { .. } | Over::FindLastIndex => self.until_from_the_end(items),
            _ => self.until(items),
        }
    }

    fn find(&mut self, items: Vec<Held<'a>>, required: bool) -> Result<Held<'a>, Halt> {
        match self.search(items)? {
            Some((_, item)) => Ok(item),
            None if required => failed(self.position, "no item fits, so there is no such item".to_owned()),
            None => Ok(Held::Borrowed(ABSENT)),
        }
    }

    fn find_index(&mut self, items: Vec<Held<'a>>) -> Result<Held<'a>, Halt> {
        Ok(match self.search(items)? {
            Some((index, _)) => Held::Owned(Value::Integer(i64::try_from(index).unwrap_or(i64::MAX))),
            None => Held::Borrowed(ABSENT),
        })
    }

    /// How many items fit. Where so many are enough, and they come upon no NaN, that others do does not matter: so behind
    /// those that do, others are looked for.
    fn count(&mut self, items: Vec<Held<'a>>, enough: Option<i64>) -> Result<i64, Halt> {
        let is_enough = |count: i64| enough.is_some_and(|enough| count >= enough);
        let (mut count, mut certain, mut met) = (0, 0, false);
        for (index, item) in items.into_iter().enumerate() {
            let (said, met_here) = match self.said(item, index) {
                Ok(said) => said,
                // The library has stopped before.
                Err(_) if is_enough(count) => break,
                Err(halt) => return Err(halt),
            };
            count += i64::from(said);
            certain += i64::from(said && !met_here);
            met |= met_here;
            if is_enough(count) && !met || is_enough(certain) {
                break;
            }
        }
        self.evaluator.met_nan |= met && !is_enough(certain);
        Ok(count)
    }

    fn filter(&mut self, items: Vec<Held<'a>>) -> Result<Held<'a>, Halt> {
        let mut kept = Vec::new();
        for (index, item) in items.into_iter().enumerate() {
            if self.holds(item.clone(), index)? {
                kept.push(self.evaluator.owned(self.position, item)?);
            }
        }
        self.evaluator.grow(self.position, kept.len())?;
        Ok(Held::Owned(Value::List(kept)))
    }

    fn map(&mut self, items: Vec<Held<'a>>) -> Result<Held<'a>, Halt> {
        let mut mapped = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let said = self.ask(item, index)?;
            mapped.push(self.evaluator.owned(self.position, said)?);
        }
        self.evaluator.grow(self.position, mapped.len())?;
        Ok(Held::Owned(Value::List(mapped)))
    }

    fn sum(&mut self, items: Vec<Held<'a>>) -> Result<Held<'a>, Halt> {
        let mut sum = Value::Integer(0);
        for (index, item) in items.into_iter().enumerate() {
            let said = self.ask(item, index)?;
            sum = at(self.position, operators::arithmetic(Operator::Add, &said, &sum))?;
        }
        Ok(Held::Owned(sum))
    }

    fn group(&mut self, items: Vec<Held<'a>>) -> Result<Held<'a>, Halt> {
        let mut groups: BTreeMap<String, Value> = BTreeMap::new();
        for (index, item) in items.into_iter().enumerate() {
            let key = match &*self.ask(item.clone(), index)? {
                Value::Text(key) => {
                    self.evaluator.work(self.position, effort(key.len()))?;
                    key.clone()
                }
                other => {
                    return failed(
                        self.position,
                        format!("`groupBy` groups by a text here, not by {}: use string(…)", other.kind()),
                    );
                }
            };
            self.evaluator.grow(self.position, 1)?;
            let item = self.evaluator.owned(self.position, item)?;
            if let Value::List(group) = groups.entry(key).or_insert_with(|| Value::List(Vec::new())) {
                group.push(item);
            }
        }
        Ok(Held::Owned(Value::Map(groups)))
    }

    fn sort(&mut self, items: Vec<Held<'a>>, order: Option<&'a Node>) -> Result<Held<'a>, Halt> {
        let order = match order {
            None => sorting::Order::Ascending,
            Some(order) => {
                let said = self.evaluator.visit(order)?;
                at(self.position, sorting::Order::named(&said))?
            }
        };
        let mut keyed = Vec::with_capacity(items.len());
        let mut weight = 0_usize;
        for (index, item) in items.into_iter().enumerate() {
            let key = self.ask(item.clone(), index)?;
            let key = self.evaluator.owned(self.position, key)?;
            self.evaluator.meet(self.position, &key)?;
            weight = weight.saturating_add(key.weight());
            keyed.push((key, self.evaluator.owned(self.position, item)?));
        }
        self.evaluator.grow(self.position, keyed.len())?;
        self.evaluator.work(self.position, sorting::steps(weight))?;
        let sorted = at(self.position, sorting::sorted(keyed, order))?;
        Ok(Held::Owned(Value::List(sorted.into_iter().map(|(_, item)| item).collect())))
    }

    fn reduce(&mut self, items: Vec<Held<'a>>, first: Option<&'a Node>) -> Result<Held<'a>, Halt> {
        let mut items = items.into_iter().enumerate();
        let mut accumulated = match first {
            Some(first) => self.evaluator.visit(first)?,
            None => match items.next() {
                Some((_, item)) => item,
                None => {
                    return failed(self.position, "`reduce` of nothing needs a first value".to_owned());
                }
            },
        };
        for (index, item) in items {
            accumulated = self.ask_with(item, index, accumulated.shared())?;
            self.evaluator.work(self.position, accumulated.weight())?;
            if accumulated.depth() > limits::VALUE_DEPTH {
                return failed(
                    self.position,
                    format!("`reduce` nests values deeper than {}", limits::VALUE_DEPTH),
                );
            }
        }
        Ok(accumulated)
    }
}
