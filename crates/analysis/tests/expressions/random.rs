//! Random expressions from a seed: words in any order, and sentences that mostly mean something. Without `findLast` and
//! `findLastIndex`: behind another value the library mixes them up with its own stack.

use super::words::{EXTREMES, FUNCTIONS, METHODS, OPERATORS, WORDS};

/// Marsaglia's xorshift.
pub(crate) struct Random(u64);

/// What kind of value is wanted. Now and then another one is given, for that is an expression too.
#[derive(Clone, Copy)]
enum Kind {
    Number,
    Truth,
    Text,
    List,
    Other,
}

const KINDS: [Kind; 5] = [Kind::Number, Kind::Truth, Kind::Text, Kind::List, Kind::Other];

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    fn pick(&mut self, from: &[&'static str]) -> &'static str {
        from[self.below(from.len())]
    }

    /// Any words in any order.
    pub(crate) fn words(&mut self) -> String {
        let count = 1 + self.below(24);
        let mut text = String::new();
        for _ in 0..count {
            text.push_str(self.pick(WORDS));
            if self.below(3) > 0 {
                text.push(' ');
            }
        }
        text
    }

    /// Everything there is, of values at the edge of what there is.
    pub(crate) fn extreme(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(EXTREMES).to_owned();
        }
        let mut one = || self.extreme(depth - 1);
        let (first, second, third) = (one(), one(), one());
        match self.below(8) {
            0..=2 => format!("({first} {} {second})", self.pick(OPERATORS)),
            3 => format!("{}({first})", self.pick(FUNCTIONS)),
            4 => format!("{}({first}, {second})", self.pick(FUNCTIONS)),
            5 => format!("{}({first}, {second}, {third})", self.pick(FUNCTIONS)),
            6 => format!("({first})[{second}:{third}]"),
            _ => {
                let given = if self.below(2) == 0 { "" } else { &second };
                format!("({first}).{}({given})", self.pick(METHODS))
            }
        }
    }

    /// A pattern, or a text that is to be read as something else, of any characters.
    pub(crate) fn reading(&mut self) -> String {
        let (function, alphabet) = match self.below(4) {
            0 => ("\"aé1\" matches ", r"\\\QEpPLdDwWsSbBx{}[][]()^$*+?|-:&~0129,aé<>iU:^"),
            1 => ("fromJSON ", "[]{}:,\"\"0123e-+.ntrulé\\\\ "),
            2 => ("fromBase64 ", "QUJD=é-_+/\n"),
            _ => (self.pick(&["date ", "duration ", "float ", "int "]), "0123456789-:T.,Z+ hmsnuµé_eExinfa"),
        };
        let alphabet: Vec<char> = alphabet.chars().collect();
        let count = self.below(16);
        let text: String = (0..count).map(|_| alphabet[self.below(alphabet.len())]).collect();
        format!("{function}({})", serde_json::Value::from(text))
    }

    /// A text with one word or one character of it taken out, doubled or replaced.
    pub(crate) fn misspelt(&mut self, text: &str) -> String {
        let characters: Vec<char> = text.chars().collect();
        let at = self.below(characters.len().max(1));
        let (before, behind) = characters.split_at(at.min(characters.len()));
        let (before, rest): (String, String) = (before.iter().collect(), behind.iter().skip(1).collect());
        match self.below(4) {
            0 => format!("{before}{rest}"),
            1 => format!(
                "{before}{}{rest}",
                behind.iter().take(1).flat_map(|next| [next; 2]).collect::<String>()
            ),
            2 => format!("{before}{}{rest}", self.pick(WORDS)),
            _ => format!("{before} {} {}", self.pick(WORDS), behind.iter().collect::<String>()),
        }
    }

    /// An expression that can be read; whether it has a value is another question.
    pub(crate) fn sentence(&mut self, depth: usize) -> String {
        let kind = KINDS[self.below(KINDS.len())];
        self.of(kind, depth, false)
    }

    /// An expression of a kind. `item`: there is an item to ask about.
    fn of(&mut self, kind: Kind, depth: usize, item: bool) -> String {
        let kind = if self.below(25) == 0 { KINDS[self.below(KINDS.len())] } else { kind };
        if depth == 0 || self.below(8) == 0 {
            return if item && self.below(2) == 0 { "#".to_owned() } else { self.atom(kind).to_owned() };
        }
        if self.below(12) == 0 {
            let condition = self.of(Kind::Truth, depth - 1, item);
            let (yes, no) = (self.of(kind, depth - 1, item), self.of(kind, depth - 1, item));
            return format!("({condition} ? {yes} : {no})");
        }
        match kind {
            Kind::Number => self.number(depth - 1, item),
            Kind::Truth => self.truth(depth - 1, item),
            Kind::Text => self.text(depth - 1, item),
            Kind::List => self.list(depth - 1, item),
            Kind::Other => self.other(depth - 1, item),
        }
    }

    fn atom(&mut self, kind: Kind) -> &'static str {
        self.pick(match kind {
            Kind::Number => {
                &["1", "2", "0", "3.5", "-1", "0.1", "result", "result.a", "result[0]", "result.list[1]"]
            }
            Kind::Truth => &["true", "false", "result.c", "result"],
            Kind::Text => &["\"a\"", "\"b c\"", "\"\"", "result.b", "\"10\"", "result"],
            Kind::List => &[
                "[]",
                "[1, 2]",
                "[3, 1.0, 2]",
                "[\"b\", \"a\"]",
                "[1, \"a\", nil]",
                "1..3",
                "result.list",
                "result",
            ],
            Kind::Other => &[
                "nil",
                "{a: 1}",
                "{}",
                "result.map",
                "result.missing",
                "duration(\"1m\")",
                "now()",
                "result?.a",
            ],
        })
    }

    fn two(&mut self, kind: Kind, operators: &[&'static str], depth: usize, item: bool) -> String {
        let (left, right) = (self.of(kind, depth, item), self.of(kind, depth, item));
        let operator = self.pick(operators);
        if self.below(2) == 0 {
            format!("({left} {operator} {right})")
        } else {
            format!("{left} {operator} {right}")
        }
    }

    fn walk(&mut self, walks: &[&'static str], asked: Kind, depth: usize, item: bool) -> String {
        let over = self.pick(walks);
        let list = self.of(Kind::List, depth, item);
        let predicate = self.of(asked, depth, true);
        match self.below(4) {
            0 => format!("({list} | {over}({predicate}))"),
            1 => format!("{over}({list}, {{{predicate}}})"),
            _ => format!("{over}({list}, {predicate})"),
        }
    }

    fn number(&mut self, depth: usize, item: bool) -> String {
        match self.below(9) {
            0..=2 if self.below(8) == 0 => {
                // Of other powers the last digit is a matter of the machine.
                format!("({}) ** {}", self.of(Kind::Number, depth, item), self.pick(&["2", "3", "10", "-1"]))
            }
            0..=2 => self.two(Kind::Number, &["+", "-", "*", "/", "%"], depth, item),
            3 => format!("-{}", self.of(Kind::Number, depth, item)),
            4 => {
                let function =
                    self.pick(&["abs", "ceil", "floor", "round", "int", "float", "asInt", "asFloat"]);
                format!("{function}({})", self.of(Kind::Number, depth, item))
            }
            5 => {
                let function = self.pick(&["len", "max", "min", "mean", "median", "sum", "first", "last"]);
                format!("{function}({})", self.of(Kind::List, depth, item))
            }
            6 => self.walk(&["count", "findIndex"], Kind::Truth, depth, item),
            7 => self.walk(&["sum"], Kind::Number, depth, item),
            _ => format!("{}[{}]", self.of(Kind::List, depth, item), self.of(Kind::Number, 0, item)),
        }
    }

    fn truth(&mut self, depth: usize, item: bool) -> String {
        match self.below(9) {
            0 | 1 => self.two(Kind::Number, &["==", "!=", "<", ">", "<=", ">="], depth, item),
            2 | 3 => self.two(Kind::Truth, &["&&", "||", "and", "or", "==", "!="], depth, item),
            4 => self.walk(&["all", "any", "none", "one"], Kind::Truth, depth, item),
            5 => {
                let (needle, list) = (self.of(Kind::Number, depth, item), self.of(Kind::List, depth, item));
                format!("{needle} {} {list}", self.pick(&["in", "not in"]))
            }
            6 => self.two(
                Kind::Text,
                &["contains", "startsWith", "endsWith", "matches", "<", "=="],
                depth,
                item,
            ),
            7 => format!("{}({})", self.pick(&["!", "not "]), self.of(Kind::Truth, depth, item)),
            _ => {
                let (left, right) = (self.of(Kind::List, depth, item), self.of(Kind::List, depth, item));
                format!("{left} == {right}")
            }
        }
    }

    fn text(&mut self, depth: usize, item: bool) -> String {
        match self.below(5) {
            0 => self.two(Kind::Text, &["+"], depth, item),
            1 => {
                let kind = KINDS[self.below(4)];
                format!("{}({})", self.pick(&["string", "toJSON", "type"]), self.of(kind, depth, item))
            }
            2 => format!("{}({})", self.pick(&["upper", "lower", "trim"]), self.of(Kind::Text, depth, item)),
            3 => format!("{}[{}:]", self.of(Kind::Text, depth, item), self.of(Kind::Number, 0, item)),
            _ => format!(
                "join(split({}, {}), \"-\")",
                self.of(Kind::Text, depth, item),
                self.of(Kind::Text, 0, item)
            ),
        }
    }

    fn list(&mut self, depth: usize, item: bool) -> String {
        match self.below(7) {
            0 => self.walk(&["filter"], Kind::Truth, depth, item),
            1 => self.walk(&["map", "sortBy"], Kind::Number, depth, item),
            2 => {
                let function = self.pick(&["reverse", "uniq", "flatten", "sort"]);
                format!("{function}({})", self.of(Kind::List, depth, item))
            }
            3 => {
                let (from, to) = (self.of(Kind::Number, 0, item), self.of(Kind::Number, 0, item));
                format!("{}[{from}:{to}]", self.of(Kind::List, depth, item))
            }
            4 => format!("[{}, {}]", self.of(Kind::Number, depth, item), self.of(Kind::Text, depth, item)),
            5 => {
                format!(
                    "concat([1], {}, {})",
                    self.of(Kind::List, depth, item),
                    self.of(Kind::List, depth, item)
                )
            }
            _ => format!("take({}, {})", self.of(Kind::List, depth, item), self.of(Kind::Number, 0, item)),
        }
    }

    fn other(&mut self, depth: usize, item: bool) -> String {
        match self.below(5) {
            0 => {
                let kind = KINDS[self.below(KINDS.len())];
                format!("({} ?? {})", self.of(Kind::Other, depth, item), self.of(kind, depth, item))
            }
            1 => self.walk(&["find", "reduce"], Kind::Truth, depth, item),
            2 => format!("let x = {}; [x, x]", self.of(Kind::Number, depth, item)),
            3 => format!(
                "{{a: {}, b: {}}}",
                self.of(Kind::Number, depth, item),
                self.of(Kind::Text, depth, item)
            ),
            _ => {
                let name = self.pick(&["a", "b", "x"]);
                format!("({})?.{name}", self.of(Kind::Other, depth, item))
            }
        }
    }
}
