//! What stands behind a value: fields, items, slices, methods.

use super::CompileError;
use super::lexer::Token;
use super::parser::Parser;
use super::syntax::{Kind, Node};
use super::value::Value;

/// Whether an operator that is a word may name a field, as in `result.in`.
pub(super) fn names_property(word: &str) -> bool {
    word.chars().next().is_some_and(char::is_alphabetic)
}

impl Parser<'_> {
    pub(super) fn postfix(&mut self, node: Node) -> Result<Node, CompileError> {
        let mut node = node;
        let mut chained = 0;
        loop {
            let position = self.position();
            node = match self.token() {
                Token::Operator(sign) if sign == "." => {
                    self.advance();
                    self.field(node, false)?
                }
                Token::Operator(sign) if sign == "?." => {
                    self.advance();
                    if self.token().is_bracket('[') {
                        self.item(node, true)?
                    } else {
                        self.field(node, true)?
                    }
                }
                Token::Bracket('[') => self.item(node, false)?,
                _ => return Ok(node),
            };
            chained += 1;
            self.check_chain(chained).map_err(|error| CompileError { position, ..error })?;
        }
    }

    fn field(&mut self, base: Node, optional: bool) -> Result<Node, CompileError> {
        let position = self.position();
        let name = self.property()?;
        // A field of a chain is part of it: nil at a `?.` before ends this one too.
        let (base, chain) = match base {
            Node { kind: Kind::Chain(inner), .. } => (inner, true),
            base => (Box::new(base), optional),
        };
        let node = if self.token().is_bracket('(') {
            let arguments = self.arguments(Vec::new())?;
            self.node(position, Kind::Method { base, name, optional, arguments })?
        } else {
            let property = Box::new(self.node(position, Kind::Literal(Value::Text(name)))?);
            self.node(position, Kind::Member { base, property, optional })?
        };
        if chain { self.node(position, Kind::Chain(Box::new(node))) } else { Ok(node) }
    }

    /// An item or a slice. Not part of a chain before it, as in the library.
    fn item(&mut self, base: Node, optional: bool) -> Result<Node, CompileError> {
        let position = self.position();
        self.advance();
        let base = Box::new(base);
        let from = if self.token().is_operator(":") { None } else { Some(Box::new(self.expression(0)?)) };
        if self.token().is_operator(":") {
            self.advance();
            let to = if self.token().is_bracket(']') { None } else { Some(Box::new(self.expression(0)?)) };
            self.expect_bracket(']')?;
            return self.node(position, Kind::Slice { base, from, to });
        }
        self.expect_bracket(']')?;
        let Some(property) = from else { return Err(self.unexpected()) };
        let node = self.node(position, Kind::Member { base, property, optional })?;
        if optional { self.node(position, Kind::Chain(Box::new(node))) } else { Ok(node) }
    }
}
