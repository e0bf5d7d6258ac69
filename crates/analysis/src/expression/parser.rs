//! From tokens to a tree, by climbing precedences as the library does.

use super::functions::Signature;
use super::lexer::{Placed, Token, tokens};
use super::pattern::{Budget, Pattern};
use super::postfix::names_property;
use super::syntax::{Kind, Node, Operator, Over};
use super::value::Value;
use super::{CompileError, limits};

/// The tree of a text, whose parts and patterns take from the budget.
pub(super) fn parse(text: &str, budget: &mut Budget) -> Result<Node, CompileError> {
    if text.len() > limits::TEXT {
        return Err(CompileError::new(
            0,
            format!("the expression is longer than {} bytes: split the metric in two", limits::TEXT),
        ));
    }
    let mut parser = Parser {
        tokens: tokens(text)?,
        at: 0,
        nested: 0,
        nodes: 0,
        budget,
        predicates: Vec::new(),
        variables: Vec::new(),
    };
    let node = parser.sequence()?;
    match parser.token() {
        Token::End => {
            parser.budget.pay_parts(parser.nodes).map_err(|message| CompileError::new(0, message))?;
            Ok(node)
        }
        _ => Err(parser.unexpected()),
    }
}

pub(super) struct Parser<'b> {
    tokens: Vec<Placed>,
    at: usize,
    nested: usize,
    nodes: usize,
    budget: &'b mut Budget,
    /// The predicates around this spot, innermost last.
    pub(super) predicates: Vec<Over>,
    /// The names that `let` gave, innermost last.
    pub(super) variables: Vec<String>,
}

impl Parser<'_> {
    pub(super) fn token(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |placed| &placed.token)
    }

    pub(super) fn position(&self) -> usize {
        self.tokens.get(self.at).map_or(0, |placed| placed.position)
    }

    pub(super) fn advance(&mut self) -> Token {
        let token = self.token().clone();
        self.at += usize::from(token != Token::End);
        token
    }

    pub(super) fn unexpected(&self) -> CompileError {
        CompileError::new(self.position(), format!("{} was not expected here", self.token().shown()))
    }

    pub(super) fn expect_bracket(&mut self, bracket: char) -> Result<(), CompileError> {
        if self.token().is_bracket(bracket) {
            self.advance();
            return Ok(());
        }
        let found = self.token().shown();
        Err(CompileError::new(self.position(), format!("`{bracket}` is expected here, not {found}")))
    }

    pub(super) fn expect_operator(&mut self, operator: &str) -> Result<(), CompileError> {
        if self.token().is_operator(operator) {
            self.advance();
            return Ok(());
        }
        let found = self.token().shown();
        Err(CompileError::new(self.position(), format!("`{operator}` is expected here, not {found}")))
    }

    pub(super) fn node(&mut self, position: usize, kind: Kind) -> Result<Node, CompileError> {
        // A long text counts as much as it takes, because the middle of a chain is there twice.
        self.nodes += match &kind {
            Kind::Literal(value) => value.weight(),
            _ => 1,
        };
        if self.nodes > limits::NODES {
            return Err(CompileError::new(
                position,
                format!("the expression has more than {} parts: split the metric in two", limits::NODES),
            ));
        }
        let node = Node::new(kind, position);
        if node.depth > 2 * limits::DEPTH {
            return Err(too_deep(position));
        }
        Ok(node)
    }

    /// Runs a step one level deeper.
    fn deeper<T>(
        &mut self,
        step: impl FnOnce(&mut Self) -> Result<T, CompileError>,
    ) -> Result<T, CompileError> {
        if self.nested >= limits::DEPTH {
            return Err(too_deep(self.position()));
        }
        self.nested += 1;
        let done = step(self);
        self.nested -= 1;
        done
    }

    pub(super) fn sequence(&mut self) -> Result<Node, CompileError> {
        let position = self.position();
        let mut nodes = vec![self.expression(0)?];
        while self.token().is_operator(";") {
            self.advance();
            if *self.token() == Token::End {
                break;
            }
            nodes.push(self.expression(0)?);
        }
        match nodes.pop() {
            Some(only) if nodes.is_empty() => Ok(only),
            Some(last) => {
                nodes.push(last);
                self.node(position, Kind::Sequence(nodes))
            }
            None => Err(self.unexpected()),
        }
    }

    pub(super) fn expression(&mut self, precedence: u16) -> Result<Node, CompileError> {
        self.deeper(|parser| parser.expression_here(precedence))
    }

    fn expression_here(&mut self, precedence: u16) -> Result<Node, CompileError> {
        if precedence == 0 && self.token().is_operator("let") {
            return self.declaration();
        }
        if precedence == 0 && self.token().is_operator("if") {
            return self.choice();
        }
        let mut left = self.primary()?;
        let mut chained = 0;
        let mut previous = None;
        while let Token::Operator(sign) = self.token().clone() {
            let position = self.position();
            if sign == "|" && precedence == 0 {
                self.advance();
                left = self.piped(left)?;
                previous = None;
            } else {
                let Some((operator, binds, negated)) = self.operator_here(&sign, precedence)? else { break };
                if previous == Some(Operator::Otherwise) && operator != Operator::Otherwise {
                    return Err(CompileError::new(
                        position,
                        format!(
                            "`??` and `{}` cannot be mixed: put one of them in parentheses",
                            operator.sign()
                        ),
                    ));
                }
                left = self.binary(left, operator, binds, negated, position)?;
                previous = Some(operator);
            }
            chained += 1;
            if self.nested + chained > limits::DEPTH {
                return Err(too_deep(position));
            }
        }
        if precedence == 0 { self.ternary(left) } else { Ok(left) }
    }

    /// Takes the operator here if it binds tightly enough, `not` before it included.
    fn operator_here(
        &mut self,
        sign: &str,
        precedence: u16,
    ) -> Result<Option<(Operator, u16, bool)>, CompileError> {
        if sign == "not" {
            let next = self.tokens.get(self.at + 1).map(|placed| placed.token.clone());
            return match next {
                Some(Token::Operator(sign)) => match Operator::named(&sign) {
                    Some((operator, binds)) if operator.can_be_negated() => {
                        if binds < precedence {
                            return Ok(None);
                        }
                        self.at += 2;
                        Ok(Some((operator, binds, true)))
                    }
                    _ => Err(self.unexpected()),
                },
                _ => Err(self.unexpected()),
            };
        }
        match Operator::named(sign) {
            Some((operator, binds)) if binds >= precedence => {
                self.advance();
                Ok(Some((operator, binds, false)))
            }
            _ => Ok(None),
        }
    }

    fn binary(
        &mut self,
        left: Node,
        operator: Operator,
        binds: u16,
        negated: bool,
        position: usize,
    ) -> Result<Node, CompileError> {
        if operator.compares() {
            return self.comparison(left, operator, binds, position);
        }
        // Powers group from the right.
        let right = self.expression(if operator == Operator::Power { binds } else { binds + 1 })?;
        let kind = match (operator, right) {
            (Operator::Matches, Node { kind: Kind::Literal(Value::Text(text)), .. }) => {
                let pattern = Pattern::kept(&text, self.budget)
                    .map_err(|reason| CompileError::new(position, reason))?;
                Kind::Matches(Box::new(left), Box::new(pattern))
            }
            (_, right) => Kind::Binary(operator, Box::new(left), Box::new(right)),
        };
        let node = self.node(position, kind)?;
        if negated { self.node(position, Kind::Not(Box::new(node))) } else { Ok(node) }
    }

    /// `1 < x < 3` is `1 < x && x < 3`.
    fn comparison(
        &mut self,
        left: Node,
        operator: Operator,
        binds: u16,
        position: usize,
    ) -> Result<Node, CompileError> {
        let (mut left, mut operator, mut position) = (left, operator, position);
        let mut whole: Option<Node> = None;
        let mut chained = 0;
        loop {
            let before = self.nodes;
            let right = self.expression(binds + 1)?;
            let size = self.nodes - before;
            let next = match self.token() {
                Token::Operator(sign) => Operator::named(sign).filter(|(next, _)| next.compares()),
                _ => None,
            };
            // The middle of a chain is there twice, and counts twice.
            let again = next.map(|_| right.clone());
            self.nodes += if again.is_some() { size } else { 0 };
            let one = self.node(position, Kind::Binary(operator, Box::new(left), Box::new(right)))?;
            let all = match whole {
                None => one,
                Some(before) => {
                    self.node(position, Kind::Binary(Operator::And, Box::new(before), Box::new(one)))?
                }
            };
            let (Some((next, _)), Some(again)) = (next, again) else { return Ok(all) };
            chained += 1;
            if self.nested + chained > limits::DEPTH {
                return Err(too_deep(position));
            }
            position = self.position();
            self.advance();
            (whole, left, operator) = (Some(all), again, next);
        }
    }

    fn declaration(&mut self) -> Result<Node, CompileError> {
        self.advance();
        let position = self.position();
        let Token::Name(name) = self.token().clone() else { return Err(self.unexpected()) };
        self.advance();
        if name == "result" || Signature::named(&name).is_some() || Over::named(&name).is_some() {
            return Err(CompileError::new(
                position,
                format!("`{name}` has a meaning already: choose another name"),
            ));
        }
        if self.variables.contains(&name) {
            return Err(CompileError::new(position, format!("`{name}` is named twice: choose another name")));
        }
        self.expect_operator("=")?;
        let value = self.expression(0)?;
        self.expect_operator(";")?;
        self.variables.push(name.clone());
        let body = self.sequence();
        self.variables.pop();
        let body = Box::new(body?);
        self.node(position, Kind::Let { name, value: Box::new(value), body })
    }

    fn choice(&mut self) -> Result<Node, CompileError> {
        let position = self.position();
        self.advance();
        let condition = self.expression(0)?;
        let yes = self.block()?;
        self.expect_operator("else")?;
        let no = if self.token().is_operator("if") { self.deeper(Self::choice)? } else { self.block()? };
        self.node(position, Kind::Conditional(Box::new([condition, yes, no])))
    }

    pub(super) fn block(&mut self) -> Result<Node, CompileError> {
        self.expect_bracket('{')?;
        let node = self.sequence()?;
        self.expect_bracket('}')?;
        Ok(node)
    }

    fn ternary(&mut self, condition: Node) -> Result<Node, CompileError> {
        if !self.token().is_operator("?") {
            return Ok(condition);
        }
        let position = self.position();
        self.advance();
        // `a ?: b` is `a ? a : b`, and a condition that holds is `true`.
        let yes = if self.token().is_operator(":") {
            self.node(position, Kind::Literal(Value::Bool(true)))?
        } else {
            self.expression(0)?
        };
        self.expect_operator(":")?;
        let no = self.expression(0)?;
        self.node(position, Kind::Conditional(Box::new([condition, yes, no])))
    }

    /// What follows `.` or `?.`.
    pub(super) fn property(&mut self) -> Result<String, CompileError> {
        match self.token().clone() {
            Token::Name(name) => {
                self.advance();
                Ok(name)
            }
            Token::Operator(word) if names_property(&word) => {
                self.advance();
                Ok(word)
            }
            _ => Err(CompileError::new(self.position(), "the name of a field is expected here".to_owned())),
        }
    }

    pub(super) fn check_chain(&self, chained: usize) -> Result<(), CompileError> {
        if self.nested + chained > limits::DEPTH { Err(too_deep(self.position())) } else { Ok(()) }
    }
}

fn too_deep(position: usize) -> CompileError {
    CompileError::new(
        position,
        format!("the expression is nested deeper than {}: take it apart with `let`", limits::DEPTH),
    )
}
