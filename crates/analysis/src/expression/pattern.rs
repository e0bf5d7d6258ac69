//! The patterns of `matches`. Users write them for Go's `regexp`; the engine here is Rust's `regex`, which reads the same
//! language but for a few spots. This is where they are made the same, or turned down.

use regex::Regex;

/// A pattern, compiled.
#[derive(Clone, Debug)]
pub(super) struct Pattern(Regex);

impl Pattern {
    pub(super) fn new(text: &str) -> Result<Self, String> {
        let translated = translate(text)?;
        Regex::new(&translated).map(Self).map_err(|error| {
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim_start_matches("error: ");
            format!("the pattern {text:?} cannot be used: {reason}")
        })
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

/// In Go `\d`, `\w`, `\s` and `\b` know ASCII only, a `[` in a class is a character, classes have no set operations, and
/// what is repeated cannot be repeated.
fn translate(text: &str) -> Result<String, String> {
    let refused = |reason: String| format!("the pattern {text:?} {reason}");
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.chars().peekable();
    let mut class = Class::Outside;
    let mut repeated = Repeated::No;
    while let Some(next) = rest.next() {
        repeated = match (next, class) {
            ('*' | '+' | '?', Class::Outside) => repeated.again(next).map_err(refused)?,
            ('{', Class::Outside) if repeats(rest.clone()) => {
                out.push('{');
                copy_until('}', &mut rest, &mut out);
                repeated = repeated.again(next).map_err(refused)?;
                continue;
            }
            _ => Repeated::No,
        };
        match (next, class) {
            ('\\', Class::Outside) if rest.peek() == Some(&'Q') => {
                rest.next();
                let text: String = rest.by_ref().collect();
                let (plain, behind) = text.split_once("\\E").unwrap_or((&text, ""));
                out.push_str(&regex::escape(plain));
                out.push_str(&translate(behind)?);
            }
            ('\\', _) => {
                let next = rest.next();
                escape(next, &mut out).map_err(refused)?;
                if matches!(next, Some('p' | 'P' | 'x')) && rest.peek() == Some(&'{') {
                    copy_until('}', &mut rest, &mut out);
                }
                class = class.inside();
            }
            ('(', Class::Outside) => {
                out.push('(');
                if rest.peek() == Some(&'?') {
                    out.push('?');
                    rest.next();
                    flags(&rest.clone().collect::<String>()).map_err(refused)?;
                }
            }
            ('[', Class::Outside) => {
                out.push('[');
                if rest.peek() == Some(&'^') {
                    out.push('^');
                    rest.next();
                }
                class = Class::Start;
            }
            ('[', _) if named_class(rest.clone()).map_err(refused)? => {
                out.push('[');
                copy_until(']', &mut rest, &mut out);
                class = Class::Inside;
            }
            ('{', Class::Outside) => {
                // Where nothing is repeated, a brace is a brace.
                out.push_str("\\{");
            }
            (']', Class::Start) => {
                out.push_str("\\]");
                class = Class::Inside;
            }
            (']', Class::Inside) => {
                out.push(']');
                class = Class::Outside;
            }
            ('[' | '&' | '~', Class::Start | Class::Inside) => {
                out.push('\\');
                out.push(next);
                class = Class::Inside;
            }
            ('-', Class::Start | Class::Inside) if rest.peek() == Some(&'-') => {
                return Err(refused("has -- in a class: write \\- for a dash".to_owned()));
            }
            _ => {
                out.push(next);
                class = class.inside();
            }
        }
    }
    Ok(out)
}

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
fn named_class(rest: impl Iterator<Item = char>) -> Result<bool, String> {
    let rest: String = rest.collect();
    let Some((name, _)) = rest.strip_prefix(':').and_then(|rest| rest.split_once(":]")) else {
        return Ok(false);
    };
    if CLASSES.contains(&name.strip_prefix('^').unwrap_or(name)) {
        Ok(true)
    } else {
        Err(format!("has the class {name:?}, which is not known"))
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

impl Class {
    fn inside(self) -> Self {
        match self {
            Self::Outside => Self::Outside,
            Self::Start | Self::Inside => Self::Inside,
        }
    }
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

/// Go knows the flags i, m, s and U; the engine here knows more.
fn flags(rest: &str) -> Result<(), String> {
    if rest.starts_with('P') || rest.starts_with('<') {
        return Ok(());
    }
    match rest.chars().take_while(|next| !matches!(next, ':' | ')')).find(|flag| !"imsU-".contains(*flag)) {
        None => Ok(()),
        Some(flag) => Err(format!("has the flag {flag:?}: only i, m, s and U are known")),
    }
}
