//! From characters to tokens, with the oddities of the library: `..` after a number, words that are operators, `not in`.

use super::CompileError;

/// What a token is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Number(String),
    Text(String),
    Operator(String),
    Bracket(char),
    End,
}

impl Token {
    pub(super) fn is_operator(&self, wanted: &str) -> bool {
        matches!(self, Self::Operator(operator) if operator == wanted)
    }

    pub(super) fn is_bracket(&self, wanted: char) -> bool {
        *self == Self::Bracket(wanted)
    }

    /// For messages.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Name(text) | Self::Number(text) | Self::Operator(text) => format!("`{text}`"),
            Self::Text(text) => format!("the text {text:?}"),
            Self::Bracket(bracket) => format!("`{bracket}`"),
            Self::End => "the end of the expression".to_owned(),
        }
    }
}

/// A token and where it starts, counted in characters.
#[derive(Clone, Debug)]
pub(super) struct Placed {
    pub(super) token: Token,
    pub(super) position: usize,
}

/// All tokens of a text; the last one is the end.
pub(super) fn tokens(text: &str) -> Result<Vec<Placed>, CompileError> {
    let mut lexer = Lexer { characters: text.chars().collect(), at: 0, tokens: Vec::new() };
    while lexer.step()? {}
    lexer.push(lexer.at, Token::End);
    Ok(lexer.tokens)
}

struct Lexer {
    characters: Vec<char>,
    at: usize,
    tokens: Vec<Placed>,
}

fn starts_name(character: char) -> bool {
    character == '_' || character == '$' || character.is_alphabetic()
}

fn continues_name(character: char) -> bool {
    starts_name(character) || character.is_ascii_digit() || (!character.is_ascii() && character.is_numeric())
}

impl Lexer {
    fn peek(&self) -> Option<char> {
        self.characters.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek();
        self.at += usize::from(next.is_some());
        next
    }

    fn accept(&mut self, valid: &str) -> bool {
        let found = self.peek().is_some_and(|next| valid.contains(next));
        self.at += usize::from(found);
        found
    }

    fn word(&self, start: usize) -> String {
        self.characters.get(start..self.at).unwrap_or_default().iter().collect()
    }

    fn push(&mut self, position: usize, token: Token) {
        self.tokens.push(Placed { token, position });
    }

    fn operator(&mut self, start: usize) {
        let word = self.word(start);
        self.push(start, Token::Operator(word));
    }

    /// Reads one token or one stretch of nothing. False at the end.
    fn step(&mut self) -> Result<bool, CompileError> {
        let start = self.at;
        let Some(next) = self.next() else { return Ok(false) };
        match next {
            _ if next.is_whitespace() => {}
            '\'' | '"' => self.quoted(start, next)?,
            '`' => self.raw(start)?,
            'b' | 'B' if matches!(self.peek(), Some('\'' | '"')) => {
                return Err(CompileError::left_out(start, "texts of bytes (b\"…\")", "use a plain text"));
            }
            '0'..='9' => self.number(start)?,
            '?' => {
                self.accept(".?");
                self.operator(start);
            }
            '/' if self.accept("/") => while !matches!(self.next(), None | Some('\n')) {},
            '/' if self.accept("*") => self.comment(start)?,
            '#' => self.pointer(start),
            '|' => {
                self.accept("|");
                self.operator(start);
            }
            ':' => {
                self.accept(":");
                self.operator(start);
            }
            '(' | '[' | '{' | ')' | ']' | '}' => self.push(start, Token::Bracket(next)),
            '/' | ',' | ';' | '%' | '+' | '-' | '^' => self.operator(start),
            '&' | '!' | '=' | '*' | '<' | '>' => {
                self.accept("&=*");
                self.operator(start);
            }
            '.' if self.peek().is_some_and(|next| next.is_ascii_digit()) => self.number(start)?,
            '.' => {
                self.accept(".");
                self.operator(start);
            }
            _ if continues_name(next) => self.name(start),
            _ => {
                return Err(CompileError::new(
                    start,
                    format!("the character {next:?} has no meaning here: put texts in quotes"),
                ));
            }
        }
        Ok(true)
    }

    fn run_of(&mut self, digits: &str) {
        while self.accept(digits) {}
    }

    fn number(&mut self, start: usize) -> Result<(), CompileError> {
        self.at = start;
        let mut digits = "0123456789_";
        if self.accept("0") {
            if self.accept("xX") {
                digits = "0123456789abcdefABCDEF_";
            } else if self.accept("oO") {
                digits = "01234567_";
            } else if self.accept("bB") {
                digits = "01_";
            }
        }
        self.run_of(digits);
        let end = self.at;
        if self.accept(".") {
            if self.peek() == Some('.') {
                // `1..3` is a range.
                self.at = end;
                let word = self.word(start);
                self.push(start, Token::Number(word));
                return Ok(());
            }
            self.run_of(digits);
        }
        if self.accept("eE") {
            self.accept("+-");
            self.run_of(digits);
        }
        if self.peek().is_some_and(continues_name) {
            self.next();
            let word = self.word(start);
            return Err(CompileError::new(
                start,
                format!("{word:?} is not a number: write 12, 1.5, 1e3 or 0xff"),
            ));
        }
        let word = self.word(start);
        self.push(start, Token::Number(word));
        Ok(())
    }

    fn comment(&mut self, start: usize) -> Result<(), CompileError> {
        loop {
            match self.next() {
                None => {
                    return Err(CompileError::new(
                        start,
                        "the comment never ends: close it with */".to_owned(),
                    ));
                }
                Some('*') if self.accept("/") => return Ok(()),
                Some(_) => {}
            }
        }
    }

    fn pointer(&mut self, start: usize) {
        self.accept("#");
        self.operator(start);
        let start = self.at;
        self.rest_of_name();
        if self.at > start {
            let word = self.word(start);
            self.push(start, Token::Name(word));
        }
    }

    fn rest_of_name(&mut self) {
        while self.peek().is_some_and(continues_name) {
            self.at += 1;
        }
    }

    fn name(&mut self, start: usize) {
        self.rest_of_name();
        let word = self.word(start);
        match word.as_str() {
            "not" => {
                self.operator(start);
                self.after_not();
            }
            "in" | "or" | "and" | "matches" | "contains" | "startsWith" | "endsWith" | "let" | "if"
            | "else" => {
                self.operator(start);
            }
            _ => self.push(start, Token::Name(word)),
        }
    }

    /// After `not`, the words of operators that can be negated are operators whatever follows.
    fn after_not(&mut self) {
        self.run_of(" ");
        let start = self.at;
        self.rest_of_name();
        match self.word(start).as_str() {
            "in" | "matches" | "contains" | "startsWith" | "endsWith" => self.operator(start),
            _ => self.at = start,
        }
    }

    fn raw(&mut self, start: usize) -> Result<(), CompileError> {
        let mut text = String::new();
        loop {
            match self.next() {
                None => return Err(unterminated(start, '`')),
                Some('`') if self.accept("`") => text.push('`'),
                Some('`') => break,
                Some(other) => text.push(other),
            }
        }
        self.push(start, Token::Text(text));
        Ok(())
    }

    fn quoted(&mut self, start: usize, quote: char) -> Result<(), CompileError> {
        let mut text = String::new();
        loop {
            match self.next() {
                None | Some('\n') => return Err(unterminated(start, quote)),
                Some(next) if next == quote => break,
                Some('\\') => text.push(self.escaped(quote)?),
                // Old line ends are new lines.
                Some('\r') if self.peek() == Some('\n') => return Err(unterminated(start, quote)),
                Some('\r') => text.push('\n'),
                Some(other) => text.push(other),
            }
        }
        self.push(start, Token::Text(text));
        Ok(())
    }

    fn escaped(&mut self, quote: char) -> Result<char, CompileError> {
        let start = self.at;
        let wrong = || {
            CompileError::new(
                start,
                "this escape has no meaning: write \\\\ for a backslash, or the text in backticks".to_owned(),
            )
        };
        let code = match self.next() {
            Some('a') => 0x07,
            Some('b') => 0x08,
            Some('f') => 0x0c,
            Some('n') => 0x0a,
            Some('r') => 0x0d,
            Some('t') => 0x09,
            Some('v') => 0x0b,
            Some('\\') => 0x5c,
            Some(same) if same == quote => u32::from(quote),
            Some('0'..='3') => {
                self.at = start;
                self.digits(8, 3).ok_or_else(wrong)?
            }
            Some('x') => self.digits(16, 2).ok_or_else(wrong)?,
            Some('u') if self.accept("{") => self.braced().ok_or_else(wrong)?,
            Some('u') => self.digits(16, 4).ok_or_else(wrong)?,
            Some('U') => self.digits(16, 8).ok_or_else(wrong)?,
            _ => return Err(wrong()),
        };
        if code > 0x0010_ffff {
            return Err(wrong());
        }
        Ok(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
    }

    fn digits(&mut self, base: u32, count: usize) -> Option<u32> {
        let mut code: u32 = 0;
        for _ in 0..count {
            code = code.checked_mul(base)?.checked_add(self.next()?.to_digit(base)?)?;
        }
        Some(code)
    }

    fn braced(&mut self) -> Option<u32> {
        let mut code: u32 = 0;
        for count in 0..=6 {
            match self.next()? {
                '}' if count > 0 => return Some(code),
                digit => code = code.checked_mul(16)?.checked_add(digit.to_digit(16)?)?,
            }
        }
        None
    }
}

fn unterminated(start: usize, quote: char) -> CompileError {
    CompileError::new(start, format!("the text that starts here never ends: close it with {quote}"))
}
