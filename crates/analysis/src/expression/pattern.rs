//! The patterns of `matches`. Users write them for Go's `regexp`; the engine here is Rust's `regex`, which reads the same
//! language but for a few spots. This is where they are made the same, or turned down.

use regex::{Regex, RegexBuilder};

use super::limits;
use super::written::quoted;

/// What may be taken before anything is evaluated, by one expression or by all of a run together: compiled they take far
/// more than their texts, and they are kept for as long as a question is open.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    /// Steps of compiling patterns that are known beforehand.
    steps: usize,
    /// Bytes of those patterns, once they are compiled.
    bytes: usize,
    /// Parts of expressions.
    parts: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self { steps: limits::STEPS, bytes: limits::PATTERNS, parts: limits::NODES_TOGETHER }
    }
}

impl Budget {
    fn pay(&mut self, steps: usize, bytes: usize) -> Result<(), String> {
        let (Some(steps), Some(bytes)) = (self.steps.checked_sub(steps), self.bytes.checked_sub(bytes))
        else {
            return Err("the patterns take too much together: use fewer, or shorter ones".to_owned());
        };
        *self = Self { steps, bytes, ..*self };
        Ok(())
    }

    /// Takes the parts of one more expression.
    pub(super) fn pay_parts(&mut self, parts: usize) -> Result<(), String> {
        self.parts = self.parts.checked_sub(parts).ok_or_else(|| {
            format!(
                "the conditions of all metrics have more than {} parts together: use shorter ones, or fewer metrics",
                limits::NODES_TOGETHER
            )
        })?;
        Ok(())
    }
}

/// A pattern, compiled.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    /// Its size once compiled, in KiB.
    size: usize,
}

impl Pattern {
    /// The sizes that are tried, in KiB. What a pattern takes once it is compiled is known only when it is.
    const SIZES: [usize; 4] = [1, 4, 32, 128];
    /// What the engine keeps of a pattern at least, in KiB, whatever its size.
    const LEAST: usize = 4;

    /// A pattern that is kept.
    pub(super) fn kept(text: &str, budget: &mut Budget) -> Result<Self, String> {
        let pattern = Self::passing(text, budget)?;
        budget.pay(0, pattern.size.max(Self::LEAST) * 1024)?;
        Ok(pattern)
    }

    /// A pattern that is used and forgotten.
    pub(crate) fn passing(text: &str, budget: &mut Budget) -> Result<Self, String> {
        let draft = Draft::of(text)?;
        budget.pay(draft.steps(), 0)?;
        draft.compiled()
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        self.regex.is_match(text)
    }

    /// How many steps a text of so many bytes takes. In the worst case the engine looks at every part of the pattern for
    /// each byte.
    pub(super) fn steps(&self, bytes: usize) -> usize {
        bytes.saturating_mul(self.size) / 2
    }
}

/// A pattern that was read and not compiled yet.
pub(super) struct Draft<'t> {
    text: &'t str,
    translated: String,
    /// How many classes it has.
    classes: usize,
    /// How many parts of it stand for a good part of Unicode.
    wide: usize,
    /// Capital letters are small ones somewhere.
    folds: bool,
}

impl<'t> Draft<'t> {
    /// Reads a pattern.
    pub(super) fn of(text: &'t str) -> Result<Self, String> {
        let refused = |reason: String| format!("the pattern {} {reason}", quoted(text));
        if text.len() > limits::PATTERN_TEXT {
            return Err(refused(format!("is longer than {} bytes", limits::PATTERN_TEXT)));
        }
        let mut draft = Self {
            text,
            translated: String::with_capacity(text.len() + 8),
            classes: 0,
            wide: 0,
            folds: false,
        };
        draft.translate().map_err(refused)?;
        Ok(draft)
    }

    /// How many steps compiling it takes. Folding a class that is wide takes milliseconds.
    pub(super) fn steps(&self) -> usize {
        let wide = if self.folds { 100_000 } else { 200 };
        500 + 4 * self.text.len() + 50 * self.classes + wide * self.wide
    }

    pub(super) fn compiled(&self) -> Result<Pattern, String> {
        let refused =
            |reason: &str| Err(format!("the pattern {} cannot be used: {reason}", quoted(self.text)));
        for size in Pattern::SIZES {
            let built = RegexBuilder::new(&self.translated)
                .size_limit(size * 1024)
                .dfa_size_limit(size * 16 * 1024)
                .nest_limit(limits::PATTERN_DEPTH)
                .build();
            match built {
                Ok(regex) => return Ok(Pattern { regex, size }),
                Err(regex::Error::CompiledTooBig(_)) => {}
                Err(error) => {
                    let error = error.to_string();
                    return refused(error.lines().last().unwrap_or_default().trim_start_matches("error: "));
                }
            }
        }
        refused("it is too large once it is compiled: write it shorter, or repeat less")
    }

    /// In Go `\d`, `\w`, `\s` and `\b` know ASCII only, a `[` in a class is a character, classes have no set operations,
    /// and what is repeated cannot be repeated.
    fn translate(&mut self) -> Result<(), String> {
        let mut rest = self.text.chars().peekable();
        let mut class = Class::Outside;
        let mut repeated = Repeated::No;
        while let Some(next) = rest.next() {
            repeated = match (next, class) {
                ('*' | '+' | '?', Class::Outside) => repeated.again(next)?,
                ('{', Class::Outside) if repeats(rest.clone()) => {
                    self.translated.push('{');
                    copy_until('}', &mut rest, &mut self.translated);
                    repeated = repeated.again(next)?;
                    continue;
                }
                _ => Repeated::No,
            };
            class = match class {
                Class::Outside => self.outside(next, &mut rest)?,
                Class::Start | Class::Inside => self.inside(next, class, &mut rest)?,
            };
        }
        Ok(())
    }

    fn outside(&mut self, next: char, rest: &mut Rest) -> Result<Class, String> {
        match next {
            '\\' if rest.peek() == Some(&'Q') => {
                rest.next();
                self.plain(rest);
            }
            '\\' => self.escaped(rest)?,
            '(' => {
                self.translated.push('(');
                if rest.peek() == Some(&'?') {
                    self.translated.push('?');
                    rest.next();
                    self.folds |= flags(rest.clone())?;
                }
            }
            '[' => {
                self.classes += 1;
                self.translated.push('[');
                if rest.peek() == Some(&'^') {
                    self.translated.push('^');
                    rest.next();
                }
                return Ok(Class::Start);
            }
            // Where nothing is repeated, a brace is a brace.
            '{' => self.translated.push_str("\\{"),
            _ => self.translated.push(next),
        }
        Ok(Class::Outside)
    }

    fn inside(&mut self, next: char, class: Class, rest: &mut Rest) -> Result<Class, String> {
        match next {
            '\\' => self.escaped(rest)?,
            '[' if named_class(rest.clone())? => {
                self.wide += usize::from(rest.clone().nth(1) == Some('^'));
                self.translated.push('[');
                copy_until(']', rest, &mut self.translated);
            }
            ']' if class == Class::Start => self.translated.push_str("\\]"),
            ']' => {
                self.translated.push(']');
                return Ok(Class::Outside);
            }
            '[' | '&' | '~' => self.translated.extend(['\\', next]),
            '-' if rest.peek() == Some(&'-') => {
                return Err("has -- in a class: write \\- for a dash".to_owned());
            }
            _ => {
                self.wide += usize::from(!next.is_ascii());
                self.translated.push(next);
            }
        }
        Ok(Class::Inside)
    }

    /// What stands between `\Q` and `\E` means itself.
    fn plain(&mut self, rest: &mut Rest) {
        let mut plain = String::new();
        while let Some(next) = rest.next() {
            if next == '\\' && rest.peek() == Some(&'E') {
                rest.next();
                break;
            }
            plain.push(next);
        }
        self.translated.push_str(&regex::escape(&plain));
    }

    fn escaped(&mut self, rest: &mut Rest) -> Result<(), String> {
        let next = rest.next();
        escape(next, &mut self.translated)?;
        self.wide += usize::from(matches!(next, Some('p' | 'P' | 'D' | 'W' | 'S' | 'x')));
        if matches!(next, Some('p' | 'P' | 'x')) && rest.peek() == Some(&'{') {
            copy_until('}', rest, &mut self.translated);
        }
        Ok(())
    }
}

/// What of a pattern is still to be read.
type Rest<'t> = std::iter::Peekable<std::str::Chars<'t>>;

/// Whether what stands before was repeated already.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeated {
    No,
    Once,
    /// As often as needed and no more: `*?`.
    Lazily,
}

impl Repeated {
    fn again(self, sign: char) -> Result<Self, String> {
        match (self, sign) {
            (Self::No, _) => Ok(Self::Once),
            (Self::Once, '?') => Ok(Self::Lazily),
            _ => Err(format!("repeats what is repeated already, at {sign:?}")),
        }
    }
}

const CLASSES: [&str; 14] = [
    "alnum", "alpha", "ascii", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space",
    "upper", "word", "xdigit",
];

/// Whether what stands behind a bracket in a class is a named class, `:alpha:]`.
fn named_class(mut rest: impl Iterator<Item = char>) -> Result<bool, String> {
    if rest.next() != Some(':') {
        return Ok(false);
    }
    let rest: String = rest.collect();
    let Some((name, _)) = rest.split_once(":]") else { return Ok(false) };
    if CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
        Ok(true)
    } else {
        Err(format!("has the class {}, which is not known", quoted(name)))
    }
}

fn copy_until(end: char, rest: &mut impl Iterator<Item = char>, out: &mut String) {
    for next in rest {
        out.push(next);
        if next == end {
            break;
        }
    }
}

/// Whether what stands behind a brace is a repetition: `2}`, `2,}` or `2,3}`.
fn repeats(rest: impl Iterator<Item = char>) -> bool {
    let inside: String = rest.take_while(|next| next.is_ascii_digit() || matches!(next, ',' | '}')).collect();
    let Some((counts, _)) = inside.split_once('}') else { return false };
    let (least, most) = counts.split_once(',').unwrap_or((counts, ""));
    !least.is_empty() && !most.contains(',')
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Outside,
    /// Just behind the `[`, where a `]` is a character.
    Start,
    Inside,
}

fn escape(next: Option<char>, out: &mut String) -> Result<(), String> {
    match next {
        Some('d') => out.push_str("[0-9]"),
        Some('D') => out.push_str("[^0-9]"),
        Some('w') => out.push_str("[0-9A-Za-z_]"),
        Some('W') => out.push_str("[^0-9A-Za-z_]"),
        Some('s') => out.push_str(r"[\t\n\x0C\r ]"),
        Some('S') => out.push_str(r"[^\t\n\x0C\r ]"),
        Some('b') => out.push_str(r"(?-u:\b)"),
        Some('B') => out.push_str(r"(?-u:\B)"),
        Some('<') => out.push('<'),
        Some('>') => out.push('>'),
        Some(known) if "pPAzafntrvx".contains(known) => {
            out.push('\\');
            out.push(known);
        }
        Some(sign) if sign.is_ascii_punctuation() => {
            out.push('\\');
            out.push(sign);
        }
        Some(other) if other.is_ascii() && !other.is_ascii_alphanumeric() => out.push(other),
        Some(other) => return Err(format!("has the escape \\{other}, which is not known")),
        None => return Err("ends in a backslash".to_owned()),
    }
    Ok(())
}

/// Go knows the flags i, m, s and U; the engine here knows more. Whether i is among them.
fn flags(rest: impl Iterator<Item = char> + Clone) -> Result<bool, String> {
    if matches!(rest.clone().next(), Some('P' | '<')) {
        return Ok(false);
    }
    let mut folds = false;
    for flag in rest.take_while(|next| !matches!(next, ':' | ')')) {
        if !"imsU-".contains(flag) {
            return Err(format!("has the flag {flag:?}: only i, m, s and U are known"));
        }
        folds |= flag == 'i';
    }
    Ok(folds)
}
