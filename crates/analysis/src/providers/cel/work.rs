//! How many steps an expression could take, before it takes them: one for each part that is evaluated, and one for each
//! value that is copied or compared on the way. Loops multiply what is within them by the longest list that they could go
//! over; lists become longer by `+` only, and every `+` is counted. Objects of one list are taken to be alike in size.

use cel::IdedExpr;
use cel::common::ast::{ComprehensionExpr, EntryExpr, Expr, IdedEntryExpr, LiteralValue, operators};
use serde_json::Value as Json;

/// So many bytes of a text count as a value: a long one costs more than a short one, wherever it comes from.
const TEXT: usize = 16;

/// How large what an expression is given is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct Sizes {
    /// Values altogether.
    pub(in super::super) values: usize,
    /// The number of objects in the longest list of objects.
    pub(in super::super) objects: usize,
    /// The values of the largest object.
    pub(in super::super) largest: usize,
    /// The longest list, or number of fields, within an object.
    pub(in super::super) longest: usize,
}

impl Sizes {
    /// Takes an object into account.
    pub(in super::super) fn add(&mut self, object: &Json) {
        let before = self.values;
        self.count(object);
        self.largest = self.largest.max(self.values - before);
    }

    /// Takes a list of objects into account.
    pub(in super::super) fn add_all(&mut self, objects: &[Json]) {
        self.objects = self.objects.max(objects.len());
        for object in objects {
            self.add(object);
        }
    }

    fn count(&mut self, json: &Json) {
        self.values += 1;
        match json {
            Json::Array(items) => {
                self.longest = self.longest.max(items.len());
                for item in items {
                    self.count(item);
                }
            }
            Json::Object(fields) => {
                self.longest = self.longest.max(fields.len());
                fields.values().for_each(|value| self.count(value));
            }
            Json::String(text) => self.values += text.len() / TEXT,
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }
}

/// The steps that an expression could take.
pub(super) fn estimate(expression: &IdedExpr, sizes: &Sizes) -> u64 {
    Estimate { sizes, bound: Vec::new() }.steps(expression)
}

struct Estimate<'a> {
    sizes: &'a Sizes,
    /// The variables of the loops that this is within.
    bound: Vec<Bound>,
}

struct Bound {
    name: String,
    /// It could be a whole list of objects.
    whole: bool,
    /// How many values it has.
    weight: u64,
}

impl Estimate<'_> {
    fn steps(&mut self, node: &IdedExpr) -> u64 {
        let within = match &node.expr {
            Expr::Comprehension(loops) => {
                let before = self.steps(&loops.iter_range).saturating_add(self.steps(&loops.accu_init));
                // The crate copies everything that a loop goes over.
                let copied = self.weight(&loops.iter_range);
                let times = self.length(&loops.iter_range);
                self.within(loops, |estimate| {
                    let each =
                        estimate.steps(&loops.loop_cond).saturating_add(estimate.steps(&loops.loop_step));
                    let after = estimate.steps(&loops.result);
                    times.saturating_mul(each).saturating_add(after)
                })
                .saturating_add(before)
                .saturating_add(copied)
            }
            Expr::Call(call) => {
                let parts: Vec<&IdedExpr> = call.target.as_deref().into_iter().chain(&call.args).collect();
                let own = self.call(&call.func_name, &parts);
                parts.iter().fold(own, |sum, part| sum.saturating_add(self.steps(part)))
            }
            _ => children(node).into_iter().fold(0, |sum: u64, part| sum.saturating_add(self.steps(part))),
        };
        within.saturating_add(1)
    }

    /// Looks at what is within a loop, where its variables are known.
    fn within<T>(&mut self, loops: &ComprehensionExpr, look: impl FnOnce(&mut Self) -> T) -> T {
        let whole = !self.is_path(&loops.iter_range) && self.mentions_objects(&loops.iter_range);
        let weight = self.weight(&loops.iter_range).div_ceil(self.length(&loops.iter_range).max(1));
        let before = self.bound.len();
        for name in [Some(&loops.iter_var), loops.iter_var2.as_ref()].into_iter().flatten() {
            self.bound.push(Bound { name: name.clone(), whole, weight });
        }
        // What a loop collects is added to, not copied.
        self.bound.push(Bound { name: loops.accu_var.clone(), whole: false, weight: 0 });
        let seen = look(self);
        self.bound.truncate(before);
        seen
    }

    /// What a function or an operator costs by itself.
    fn call(&mut self, function: &str, parts: &[&IdedExpr]) -> u64 {
        let weights = parts.iter().map(|part| self.weight(part));
        match function {
            operators::ADD | operators::IN | "contains" | "max" | "min" | "sum" | "string" => {
                weights.fold(0, u64::saturating_add)
            }
            operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS => weights.min().unwrap_or(0),
            _ => 0,
        }
    }

    /// How many values there could be in what it gives.
    fn weight(&mut self, node: &IdedExpr) -> u64 {
        match &node.expr {
            Expr::Ident(name) => match self.bound.iter().rev().find(|bound| bound.name == *name) {
                Some(bound) => bound.weight,
                None if is_list(name) => count(self.sizes.values),
                None => count(self.sizes.largest),
            },
            Expr::Comprehension(loops) if matches!(loops.accu_init.expr, Expr::List(_)) => {
                let times = self.length(&loops.iter_range);
                let each = self.within(loops, |estimate| estimate.weight(&loops.loop_step));
                times.saturating_mul(each)
            }
            Expr::Literal(LiteralValue::String(text)) => 1 + count(text.inner().len() / TEXT),
            Expr::Literal(LiteralValue::Bytes(bytes)) => 1 + count(bytes.inner().len() / TEXT),
            Expr::Comprehension(_) | Expr::Literal(_) | Expr::Unspecified => 1,
            Expr::Call(call) if gives_one(&call.func_name) => 1,
            Expr::Call(_) | Expr::List(_) | Expr::Map(_) | Expr::Struct(_) | Expr::Select(_) => {
                children(node).into_iter().fold(0, |sum: u64, part| sum.saturating_add(self.weight(part)))
            }
        }
    }

    /// How long a list this could be.
    fn length(&self, node: &IdedExpr) -> u64 {
        let objects = if self.mentions_objects(node) { self.sizes.objects } else { 0 };
        let written = count(parts(node));
        let longest = count(self.sizes.longest.max(objects)).max(written);
        longest.saturating_mul(count(1 + additions(node)))
    }

    /// Whether it only follows fields from a variable that was handed in, so that what a loop over it sees is within one
    /// object. The variable of a loop may be a list of lists.
    fn is_path(&self, node: &IdedExpr) -> bool {
        match &node.expr {
            Expr::Ident(name) => self.bound.iter().all(|bound| bound.name != *name),
            Expr::Select(select) => self.is_path(&select.operand),
            _ => false,
        }
    }

    /// Whether a whole list of objects could be in it.
    fn mentions_objects(&self, node: &IdedExpr) -> bool {
        match &node.expr {
            Expr::Ident(name) => match self.bound.iter().rev().find(|bound| bound.name == *name) {
                Some(bound) => bound.whole,
                None => is_list(name),
            },
            _ => children(node).into_iter().any(|part| self.mentions_objects(part)),
        }
    }
}

/// The variables that are lists of objects.
fn is_list(name: &str) -> bool {
    name == "pods" || name == "updated"
}

/// The functions and operators that give one value, whatever they are given.
fn gives_one(function: &str) -> bool {
    let several = [
        operators::ADD,
        operators::CONDITIONAL,
        operators::INDEX,
        operators::OPT_INDEX,
        operators::OPT_SELECT,
    ];
    !several.contains(&function) && !["dyn", "max", "min", "or", "orValue", "string"].contains(&function)
}

fn additions(node: &IdedExpr) -> usize {
    let own = matches!(&node.expr, Expr::Call(call) if call.func_name == operators::ADD);
    children(node).into_iter().map(additions).sum::<usize>() + usize::from(own)
}

fn parts(node: &IdedExpr) -> usize {
    1 + children(node).into_iter().map(parts).sum::<usize>()
}

fn children(node: &IdedExpr) -> Vec<&IdedExpr> {
    match &node.expr {
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(loops) => {
            vec![&loops.iter_range, &loops.accu_init, &loops.loop_cond, &loops.loop_step, &loops.result]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => entries(&map.entries),
        Expr::Struct(object) => entries(&object.entries),
        Expr::Select(select) => vec![&select.operand],
        Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => Vec::new(),
    }
}

fn entries(entries: &[IdedEntryExpr]) -> Vec<&IdedExpr> {
    let parts = entries.iter().flat_map(|entry| match &entry.expr {
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
        EntryExpr::StructField(field) => vec![&field.value],
    });
    parts.collect()
}

fn count(number: usize) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}
