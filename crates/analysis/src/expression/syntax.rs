//! The tree that a text becomes.

use super::functions::Signature;
use super::pattern::Pattern;
use super::value::Value;

/// One node and where it stands, counted in characters.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) position: usize,
    /// How many nodes stand one in another here, this one included: whoever walks the tree goes so deep.
    pub(super) depth: usize,
}

impl Node {
    pub(super) fn new(kind: Kind, position: usize) -> Self {
        let depth = 1 + kind.depth();
        Self { kind, position, depth }
    }
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Literal(Value),
    /// The measured value.
    Result,
    /// What `let` named.
    Variable(String),
    Negative(Box<Node>),
    Positive(Box<Node>),
    Not(Box<Node>),
    Binary(Operator, Box<Node>, Box<Node>),
    /// `matches` with a pattern known beforehand.
    Matches(Box<Node>, Box<Pattern>),
    /// Where a `?.` inside ends if it meets nil.
    Chain(Box<Node>),
    Member {
        base: Box<Node>,
        property: Box<Node>,
        optional: bool,
    },
    Slice {
        base: Box<Node>,
        from: Option<Box<Node>>,
        to: Option<Box<Node>>,
    },
    Call(&'static Signature, Vec<Node>),
    Method {
        base: Box<Node>,
        name: String,
        optional: bool,
        arguments: Vec<Node>,
    },
    Loop(Box<Loop>),
    Pointer(Pointer),
    Let {
        name: String,
        value: Box<Node>,
        body: Box<Node>,
    },
    Sequence(Vec<Node>),
    Conditional(Box<[Node; 3]>),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
}

impl Kind {
    /// How deep its parts are.
    fn depth(&self) -> usize {
        let deepest = |nodes: &[Node]| nodes.iter().map(|node| node.depth).max().unwrap_or(0);
        let of = |node: &Option<Box<Node>>| node.as_ref().map_or(0, |node| node.depth);
        match self {
            Self::Literal(_) | Self::Result | Self::Variable(_) | Self::Pointer(_) => 0,
            Self::Negative(inner)
            | Self::Positive(inner)
            | Self::Not(inner)
            | Self::Matches(inner, _)
            | Self::Chain(inner) => inner.depth,
            Self::Binary(_, one, two)
            | Self::Member { base: one, property: two, .. }
            | Self::Let { value: one, body: two, .. } => one.depth.max(two.depth),
            Self::Slice { base, from, to } => base.depth.max(of(from)).max(of(to)),
            Self::Call(_, nodes) | Self::Sequence(nodes) | Self::List(nodes) => deepest(nodes),
            Self::Method { base, arguments, .. } => base.depth.max(deepest(arguments)),
            Self::Loop(walk) => {
                let others = [&walk.predicate, &walk.extra].into_iter().flatten();
                others.map(|node| node.depth).max().unwrap_or(0).max(walk.collection.depth)
            }
            Self::Conditional(parts) => deepest(&**parts),
            Self::Map(pairs) => {
                pairs.iter().map(|(key, value)| key.depth.max(value.depth)).max().unwrap_or(0)
            }
        }
    }
}

/// A function that asks something of each item.
#[derive(Clone, Debug)]
pub(super) struct Loop {
    pub(super) over: Over,
    pub(super) collection: Node,
    pub(super) predicate: Option<Node>,
    /// The order of `sortBy`, the first value of `reduce`.
    pub(super) extra: Option<Node>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over {
    All,
    None,
    Any,
    One,
    Filter,
    Map,
    /// Counting may stop as soon as the answer is certain.
    Count {
        enough: Option<i64>,
    },
    Sum,
    /// `required`: finding nothing is an error, as of `filter(…)[0]`.
    Find {
        required: bool,
    },
    FindIndex,
    FindLast {
        required: bool,
    },
    FindLastIndex,
    GroupBy,
    SortBy,
    Reduce,
}

impl Over {
    pub(super) const NAMES: [(&'static str, Self); 15] = [
        ("all", Self::All),
        ("none", Self::None),
        ("any", Self::Any),
        ("one", Self::One),
        ("filter", Self::Filter),
        ("map", Self::Map),
        ("count", Self::Count { enough: None }),
        ("sum", Self::Sum),
        ("find", Self::Find { required: false }),
        ("findIndex", Self::FindIndex),
        ("findLast", Self::FindLast { required: false }),
        ("findLastIndex", Self::FindLastIndex),
        ("groupBy", Self::GroupBy),
        ("sortBy", Self::SortBy),
        ("reduce", Self::Reduce),
    ];

    pub(super) fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(known, _)| *known == name).map(|(_, over)| *over)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::None => "none",
            Self::Any => "any",
            Self::One => "one",
            Self::Filter => "filter",
            Self::Map => "map",
            Self::Count { .. } => "count",
            Self::Sum => "sum",
            Self::Find { .. } => "find",
            Self::FindIndex => "findIndex",
            Self::FindLast { .. } => "findLast",
            Self::FindLastIndex => "findLastIndex",
            Self::GroupBy => "groupBy",
            Self::SortBy => "sortBy",
            Self::Reduce => "reduce",
        }
    }

    pub(super) fn predicate_is_optional(self) -> bool {
        matches!(self, Self::Count { .. } | Self::Sum)
    }

    pub(super) fn takes_extra(self) -> bool {
        matches!(self, Self::SortBy | Self::Reduce)
    }

    pub(super) fn has(self, pointer: Pointer) -> bool {
        match pointer {
            Pointer::Item => true,
            Pointer::Index => matches!(self, Self::Map | Self::Reduce),
            Pointer::Accumulated => self == Self::Reduce,
        }
    }
}

/// What `#` and its names stand for in a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pointer {
    Item,
    Index,
    Accumulated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    Or,
    And,
    Equal,
    NotEqual,
    Less,
    More,
    LessOrEqual,
    MoreOrEqual,
    In,
    Matches,
    Contains,
    StartsWith,
    EndsWith,
    Range,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    Power,
    Otherwise,
}

impl Operator {
    /// The operator that a token names, and how tightly it binds.
    pub(super) fn named(text: &str) -> Option<(Self, u16)> {
        Some(match text {
            "or" | "||" => (Self::Or, 10),
            "and" | "&&" => (Self::And, 15),
            "==" => (Self::Equal, 20),
            "!=" => (Self::NotEqual, 20),
            "<" => (Self::Less, 20),
            ">" => (Self::More, 20),
            "<=" => (Self::LessOrEqual, 20),
            ">=" => (Self::MoreOrEqual, 20),
            "in" => (Self::In, 20),
            "matches" => (Self::Matches, 20),
            "contains" => (Self::Contains, 20),
            "startsWith" => (Self::StartsWith, 20),
            "endsWith" => (Self::EndsWith, 20),
            ".." => (Self::Range, 25),
            "+" => (Self::Add, 30),
            "-" => (Self::Subtract, 30),
            "*" => (Self::Multiply, 60),
            "/" => (Self::Divide, 60),
            "%" => (Self::Modulo, 60),
            "**" | "^" => (Self::Power, 100),
            "??" => (Self::Otherwise, 500),
            _ => return None,
        })
    }

    pub(super) fn sign(self) -> &'static str {
        match self {
            Self::Or => "||",
            Self::And => "&&",
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::More => ">",
            Self::LessOrEqual => "<=",
            Self::MoreOrEqual => ">=",
            Self::In => "in",
            Self::Matches => "matches",
            Self::Contains => "contains",
            Self::StartsWith => "startsWith",
            Self::EndsWith => "endsWith",
            Self::Range => "..",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Modulo => "%",
            Self::Power => "**",
            Self::Otherwise => "??",
        }
    }

    pub(super) fn compares(self) -> bool {
        matches!(self, Self::Less | Self::More | Self::LessOrEqual | Self::MoreOrEqual)
    }

    /// Whether `not` may stand before it.
    pub(super) fn can_be_negated(self) -> bool {
        matches!(self, Self::In | Self::Matches | Self::Contains | Self::StartsWith | Self::EndsWith)
    }
}
