//! Paths into JSON as Kubernetes writes them, `{$.items[0].name}`: fields, indices also from the end, slices, unions,
//! wildcards, `..` and filters. No crate reads this dialect. Where the original is only fussy this one is not: numbers
//! are compared as numbers, and an item that has not the field of a filter is no hit instead of an error.

#[cfg(test)]
mod tests;

use serde_json::Value as Json;

/// How deep blocks and filters may be nested in a path.
const DEPTH: usize = 16;
/// How many values may be looked at, so that no path takes for ever: each one that a part is asked of, that it finds, that
/// a filter is asked about, or that is compared.
const VALUES: usize = 500_000;
/// So many bytes of a text that is compared count as a value.
const TEXT: usize = 64;

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct JsonPath {
    text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
enum Part {
    /// `.name` or `['name']`
    Field(String),
    /// `.*` or `[*]`
    Every,
    /// `..`: the value itself and everything below it.
    Below,
    /// `[2]`, `[-1]`, `[1:3]`, `[::2]`
    Slice(Slice),
    /// `[0,2]` or `['a','b']`
    Union(Vec<Part>),
    /// `[?(@.x == "y")]`
    Filter(Box<Filter>),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Slice {
    Index(i64),
    Range { start: Option<i64>, end: Option<i64>, step: usize },
}

#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Operand,
    compared: Option<(Comparison, Operand)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Constant(Json),
    /// From the item, `@`.
    Item(Vec<Part>),
    /// From the whole, `$`.
    Whole(Vec<Part>),
}

impl JsonPath {
    /// Reads a path.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let trimmed = text.trim();
        let inner = trimmed.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        let Some(inner) = inner.map(str::trim) else {
            return Err(format!("it stands in braces: {{{}}}", trimmed.trim_matches(['{', '}'])));
        };
        if inner.starts_with("range ") || inner == "end" || inner.contains(['{', '}']) {
            return Err("it is one path: range, end and several braces have no meaning here".to_owned());
        }
        let mut reader = Reader { rest: inner, depth: 0 };
        reader.take_prefix("$");
        let parts = reader.parts()?;
        match reader.rest.trim() {
            "" => Ok(Self { text: trimmed.to_owned(), parts }),
            rest => Err(format!("what is {rest:?}? write it as {{$.field[0]}}")),
        }
    }

    /// The first value that is found.
    pub(super) fn first<'a>(&self, whole: &'a Json) -> Result<&'a Json, String> {
        let mut walk = Walk { whole, looked: 0 };
        let found = walk.parts(&self.parts, vec![whole]).map_err(|why| format!("{}: {why}", self.text))?;
        found.first().copied().ok_or_else(|| format!("{} finds nothing in the answer", self.text))
    }
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    fn take_prefix(&mut self, prefix: &str) -> bool {
        let rest = self.rest.strip_prefix(prefix);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn parts(&mut self) -> Result<Vec<Part>, String> {
        let mut parts = Vec::new();
        // The dot before the first name may be left out.
        if self.rest.starts_with(|first: char| first.is_alphanumeric() || first == '_') {
            parts.push(self.field()?);
        }
        loop {
            if self.take_prefix("..") {
                parts.push(Part::Below);
                if !self.rest.is_empty() && !self.rest.starts_with('[') {
                    parts.push(self.field()?);
                }
            } else if self.take_prefix(".") {
                if !(self.rest.starts_with('[') || self.rest.is_empty() && parts.is_empty()) {
                    parts.push(self.field()?);
                }
            } else if self.rest.starts_with('[') {
                parts.push(self.bracket()?);
            } else {
                return Ok(parts);
            }
        }
    }

    /// A name up to whatever ends it; a backslash keeps the next letter.
    fn field(&mut self) -> Result<Part, String> {
        let mut name = String::new();
        let mut letters = self.rest.char_indices();
        let mut end = self.rest.len();
        while let Some((at, letter)) = letters.next() {
            match letter {
                '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
                '.' | ',' | '[' | ']' | '(' | ')' | '$' | '@' | '=' | '!' | '<' | '>' => {
                    end = at;
                    break;
                }
                letter if letter.is_whitespace() => {
                    end = at;
                    break;
                }
                letter => name.push(letter),
            }
        }
        self.rest = &self.rest[end..];
        match name.as_str() {
            "" => Err("a name is missing behind a dot".to_owned()),
            "*" => Ok(Part::Every),
            _ => Ok(Part::Field(name)),
        }
    }

    fn bracket(&mut self) -> Result<Part, String> {
        let inner = self.inside('[', ']')?;
        if let Some(filter) = inner.trim().strip_prefix('?') {
            let mut reader = Reader { rest: filter.trim(), depth: self.depth };
            let filter = reader.inside('(', ')')?;
            if !reader.rest.trim().is_empty() {
                return Err(format!("what is {:?} behind a filter?", reader.rest.trim()));
            }
            return Ok(Part::Filter(Box::new(self.filter(filter)?)));
        }
        let mut parts = split_outside_of_quotes(inner, ',').into_iter().map(str::trim).map(one_of_a_bracket);
        match (parts.next(), parts.next()) {
            (Some(only), None) => only,
            (first, second) => {
                Ok(Part::Union(first.into_iter().chain(second).chain(parts).collect::<Result<_, _>>()?))
            }
        }
    }

    /// What stands between two brackets that belong together; quotes hide brackets.
    fn inside(&mut self, open: char, close: char) -> Result<&'a str, String> {
        let text = self.rest.strip_prefix(open).ok_or_else(|| format!("{open} is missing"))?;
        let (mut depth, mut quote) = (0_usize, None);
        for (at, letter) in text.char_indices() {
            match (quote, letter) {
                (Some(mark), letter) if letter == mark => quote = None,
                (None, '\'' | '"') => quote = Some(letter),
                (None, letter) if letter == open => depth += 1,
                (None, letter) if letter == close && depth > 0 => depth -= 1,
                (None, letter) if letter == close => {
                    self.rest = &text[at + close.len_utf8()..];
                    return Ok(&text[..at]);
                }
                (Some(_) | None, _) => {}
            }
        }
        Err(format!("{close} is missing"))
    }

    fn filter(&self, text: &'a str) -> Result<Filter, String> {
        if self.depth >= DEPTH {
            return Err("filters are nested too deep".to_owned());
        }
        let mut reader = Reader { rest: text.trim(), depth: self.depth + 1 };
        let left = reader.operand()?;
        reader.rest = reader.rest.trim_start();
        let signs = [
            ("==", Comparison::Equal),
            ("!=", Comparison::Unequal),
            ("<=", Comparison::AtMost),
            (">=", Comparison::AtLeast),
            ("<", Comparison::Less),
            (">", Comparison::More),
        ];
        let Some((_, comparison)) = signs.into_iter().find(|(sign, _)| reader.take_prefix(sign)) else {
            return match reader.rest {
                "" => Ok(Filter { left, compared: None }),
                rest => Err(format!("what is {rest:?} in a filter? write it as ?(@.name==\"value\")")),
            };
        };
        reader.rest = reader.rest.trim_start();
        let right = reader.operand()?;
        match reader.rest.trim() {
            "" => Ok(Filter { left, compared: Some((comparison, right)) }),
            rest => Err(format!("a filter has one comparison; what is {rest:?}?")),
        }
    }

    fn operand(&mut self) -> Result<Operand, String> {
        if self.take_prefix("@") {
            return Ok(Operand::Item(self.parts()?));
        }
        if self.take_prefix("$") {
            return Ok(Operand::Whole(self.parts()?));
        }
        if let Some(mark @ ('\'' | '"')) = self.rest.chars().next() {
            let text = self.rest[1..].split_once(mark).ok_or_else(|| format!("{mark} is missing"))?;
            self.rest = text.1;
            return Ok(Operand::Constant(text.0.into()));
        }
        let end = self.rest.find(|letter: char| letter.is_whitespace() || "=!<>".contains(letter));
        let (word, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        match serde_json::from_str::<Json>(word) {
            Ok(constant) if !word.is_empty() => Ok(Operand::Constant(constant)),
            _ => Err(format!("what is {word:?} in a filter? a text needs quotes, a field begins with @.")),
        }
    }
}

/// One of the things between brackets: a name in quotes, `*`, an index or a slice.
fn one_of_a_bracket(text: &str) -> Result<Part, String> {
    let quoted = |mark: char| text.strip_prefix(mark)?.strip_suffix(mark);
    if let Some(name) = quoted('\'').or_else(|| quoted('"')) {
        return Ok(Part::Field(name.to_owned()));
    }
    if text == "*" {
        return Ok(Part::Every);
    }
    let wrong = || format!("what is [{text}]? write an index, a slice such as 0:2, * or a name in quotes");
    let number = |text: &str| match text.trim() {
        "" => Ok(None),
        text => text.parse::<i64>().map(Some).map_err(|_| wrong()),
    };
    match text.split(':').collect::<Vec<_>>()[..] {
        [index] => Ok(Part::Slice(Slice::Index(number(index)?.ok_or_else(wrong)?))),
        [start, end] => Ok(Part::Slice(Slice::Range { start: number(start)?, end: number(end)?, step: 1 })),
        [start, end, step] => {
            let step = usize::try_from(number(step)?.unwrap_or(1)).ok().filter(|step| *step > 0);
            let step = step.ok_or_else(|| "the step of a slice is above 0".to_owned())?;
            Ok(Part::Slice(Slice::Range { start: number(start)?, end: number(end)?, step }))
        }
        _ => Err(wrong()),
    }
}

fn split_outside_of_quotes(text: &str, separator: char) -> Vec<&str> {
    let mut quote = None;
    text.split(|letter| {
        match (quote, letter) {
            (Some(mark), letter) if letter == mark => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, letter) => return letter == separator,
            (Some(_), _) => {}
        }
        false
    })
    .collect()
}

struct Walk<'a> {
    whole: &'a Json,
    looked: usize,
}

impl<'a> Walk<'a> {
    fn parts(&mut self, parts: &[Part], from: Vec<&'a Json>) -> Result<Vec<&'a Json>, String> {
        parts.iter().try_fold(from, |values, part| self.part(part, &values))
    }

    fn part(&mut self, part: &Part, values: &[&'a Json]) -> Result<Vec<&'a Json>, String> {
        self.look(values.len() + 1)?;
        let mut found = Vec::new();
        match part {
            Part::Field(name) => {
                found.extend(values.iter().filter_map(|value| value.as_object()?.get(name)));
                if found.is_empty() && !values.is_empty() {
                    return Err(format!("{name} is not found"));
                }
            }
            Part::Every => values.iter().for_each(|value| found.extend(children(value))),
            Part::Below => values.iter().try_for_each(|value| self.below(value, &mut found))?,
            Part::Slice(slice) => {
                for value in values.iter().filter(|value| !value.is_null()) {
                    let items = value.as_array().ok_or("an index needs a list, and there is none")?;
                    found.extend(slice.of(items)?);
                }
            }
            Part::Union(parts) => {
                for part in parts {
                    found.extend(self.part(part, values)?);
                }
            }
            Part::Filter(filter) => {
                for value in values {
                    let items = value.as_array().ok_or("a filter needs a list, and there is none")?;
                    for item in items {
                        self.look(1)?;
                        if self.passes(filter, item)? {
                            found.push(item);
                        }
                    }
                }
            }
        }
        self.look(found.len())?;
        Ok(found)
    }

    /// Counts what is looked at.
    fn look(&mut self, values: usize) -> Result<(), String> {
        self.looked += values;
        if self.looked > VALUES { Err("the path looks at too many values".to_owned()) } else { Ok(()) }
    }

    fn below(&mut self, value: &'a Json, found: &mut Vec<&'a Json>) -> Result<(), String> {
        self.look(1)?;
        found.push(value);
        children(value).try_for_each(|child| self.below(child, found))
    }

    /// Counts everything in a value that is compared as a whole.
    fn look_within(&mut self, value: &Json) -> Result<(), String> {
        self.look(1 + value.as_str().map_or(0, |text| text.len() / TEXT))?;
        children(value).try_for_each(|child| self.look_within(child))
    }

    fn passes(&mut self, filter: &Filter, item: &'a Json) -> Result<bool, String> {
        let left = self.operand(&filter.left, item);
        let Some((comparison, right)) = &filter.compared else { return Ok(!left.is_empty()) };
        let right = self.operand(right, item);
        match (&left[..], &right[..]) {
            ([left], [right]) => {
                self.look_within(left)?;
                Ok(comparison.holds(left, right))
            }
            ([], _) | (_, []) => Ok(false),
            _ => Err("a filter compares one value with one other, and there are several".to_owned()),
        }
    }

    /// What an operand means; nothing where it leads nowhere.
    fn operand<'b>(&mut self, operand: &'b Operand, item: &'a Json) -> Vec<&'b Json>
    where
        'a: 'b,
    {
        let (parts, from) = match operand {
            Operand::Constant(constant) => return vec![constant],
            Operand::Item(parts) => (parts, item),
            Operand::Whole(parts) => (parts, self.whole),
        };
        self.parts(parts, vec![from]).unwrap_or_default()
    }
}

fn children(value: &Json) -> Box<dyn Iterator<Item = &Json> + '_> {
    match value {
        Json::Array(items) => Box::new(items.iter()),
        Json::Object(fields) => Box::new(fields.values()),
        Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => Box::new(std::iter::empty()),
    }
}

impl Slice {
    fn of(self, items: &[Json]) -> Result<Vec<&Json>, String> {
        let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
        let from_the_end = |index: i64| if index < 0 { index.saturating_add(length) } else { index };
        let outside = |index: i64| format!("the index {index} is outside of a list of {length}");
        let within = |index: i64, most: i64| {
            let place = usize::try_from(from_the_end(index)).ok();
            place.filter(|_| from_the_end(index) <= most).ok_or_else(|| outside(index))
        };
        match self {
            Self::Index(index) => {
                let place = within(index, length - 1)?;
                Ok(items.get(place).into_iter().collect())
            }
            Self::Range { start, end, step } => {
                let (start, end) =
                    (within(start.unwrap_or(0), length)?, within(end.unwrap_or(length), length)?);
                Ok(items.get(start..end).unwrap_or_default().iter().step_by(step).collect())
            }
        }
    }
}

impl Comparison {
    fn holds(self, left: &Json, right: &Json) -> bool {
        use std::cmp::Ordering;
        let ordering = match (left, right) {
            (Json::Number(left), Json::Number(right)) => {
                left.as_f64().zip(right.as_f64()).and_then(|(left, right)| left.partial_cmp(&right))
            }
            (Json::String(left), Json::String(right)) => Some(left.cmp(right)),
            (left, right) => (left == right).then_some(Ordering::Equal),
        };
        match self {
            Self::Equal => ordering == Some(Ordering::Equal),
            Self::Unequal => ordering != Some(Ordering::Equal),
            Self::Less => ordering == Some(Ordering::Less),
            Self::AtMost => matches!(ordering, Some(Ordering::Less | Ordering::Equal)),
            Self::More => ordering == Some(Ordering::Greater),
            Self::AtLeast => matches!(ordering, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}
