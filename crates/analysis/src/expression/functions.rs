//! The functions there are: their names, what they take and what they give.

/// A function by what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Function {
    Length,
    Type,
    Absolute,
    Ceiling,
    Floor,
    Round,
    Integer,
    Float,
    Text,
    Trim,
    TrimPrefix,
    TrimSuffix,
    Upper,
    Lower,
    Split,
    SplitAfter,
    Replace,
    Repeat,
    Join,
    IndexOf,
    LastIndexOf,
    HasPrefix,
    HasSuffix,
    Greatest,
    Least,
    Mean,
    Median,
    ToJson,
    FromJson,
    ToBase64,
    FromBase64,
    Now,
    Duration,
    Date,
    First,
    Last,
    Get,
    Take,
    Keys,
    Values,
    ToPairs,
    FromPairs,
    Reverse,
    Unique,
    Concat,
    Flatten,
    Sort,
    BitAnd,
    BitOr,
    BitXor,
    BitAndNot,
    ShiftLeft,
    ShiftRight,
    ShiftRightUnsigned,
    BitNot,
    AsInteger,
    AsFloat,
    IsNan,
    IsInfinite,
    IsNil,
    Default,
}

impl Function {
    /// Whether it compares what it is given, or makes a whole number of it, where NaN leads astray.
    pub(super) fn compares(self) -> bool {
        matches!(
            self,
            Self::Greatest
                | Self::Least
                | Self::Median
                | Self::Unique
                | Self::Sort
                | Self::Integer
                | Self::AsInteger
        )
    }
}

/// What a parameter accepts. A value that is not known before the evaluation is always accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wants {
    Anything,
    Text,
    Integer,
    /// A float; whole numbers written in the expression become floats.
    Float,
    Number,
    /// A number, a text of one, or a duration.
    NumberOrText,
    List,
    Map,
    /// How many: an integer, or even a duration.
    Count,
    /// Something that has a length.
    Sized,
    /// Numbers and lists of them.
    Aggregate,
    /// Checked when it is evaluated.
    Unchecked,
}

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gives {
    Anything,
    Bool,
    Integer,
    Float,
    Text,
    Moment,
    Duration,
    List,
    Texts,
    MapOfAnyKey,
    /// The kind of the first argument.
    SameAsFirst,
    /// A list, if the first argument is known to be one.
    ListLikeFirst,
}

/// One function.
#[derive(Debug)]
pub(super) struct Signature {
    pub(super) name: &'static str,
    pub(super) function: Function,
    /// How many arguments it needs at least.
    pub(super) least: usize,
    /// What it takes; the last one repeats if `variadic`.
    pub(super) parameters: &'static [Wants],
    pub(super) variadic: bool,
    pub(super) gives: Gives,
}

impl Signature {
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        SIGNATURES.iter().find(|signature| signature.name == name)
    }

    pub(super) fn wants(&self, index: usize) -> Option<Wants> {
        let last = if self.variadic { self.parameters.last() } else { None };
        self.parameters.get(index).or(last).copied()
    }
}

/// Functions of the library that this one leaves out, and what to do instead.
pub(super) const LEFT_OUT: [(&str, &str); 1] = [("timezone", "write times in UTC or with their offset")];

const fn takes(
    name: &'static str,
    function: Function,
    parameters: &'static [Wants],
    gives: Gives,
) -> Signature {
    Signature { name, function, least: parameters.len(), parameters, variadic: false, gives }
}

/// The last parameter may be left out.
const fn may(
    name: &'static str,
    function: Function,
    parameters: &'static [Wants],
    gives: Gives,
) -> Signature {
    Signature { name, function, least: parameters.len() - 1, parameters, variadic: false, gives }
}

const fn many(
    name: &'static str,
    function: Function,
    parameters: &'static [Wants],
    gives: Gives,
) -> Signature {
    Signature { name, function, least: 1, parameters, variadic: true, gives }
}

use Wants as W;

pub(super) const SIGNATURES: &[Signature] = &[
    takes("len", Function::Length, &[W::Sized], Gives::Integer),
    takes("type", Function::Type, &[W::Anything], Gives::Text),
    takes("abs", Function::Absolute, &[W::Number], Gives::SameAsFirst),
    takes("ceil", Function::Ceiling, &[W::Number], Gives::Float),
    takes("floor", Function::Floor, &[W::Number], Gives::Float),
    takes("round", Function::Round, &[W::Number], Gives::Float),
    takes("int", Function::Integer, &[W::NumberOrText], Gives::Integer),
    takes("float", Function::Float, &[W::NumberOrText], Gives::Float),
    takes("string", Function::Text, &[W::Anything], Gives::Text),
    may("trim", Function::Trim, &[W::Text, W::Text], Gives::Text),
    may("trimPrefix", Function::TrimPrefix, &[W::Text, W::Text], Gives::Text),
    may("trimSuffix", Function::TrimSuffix, &[W::Text, W::Text], Gives::Text),
    takes("upper", Function::Upper, &[W::Text], Gives::Text),
    takes("lower", Function::Lower, &[W::Text], Gives::Text),
    may("split", Function::Split, &[W::Text, W::Text, W::Integer], Gives::Texts),
    may("splitAfter", Function::SplitAfter, &[W::Text, W::Text, W::Integer], Gives::Texts),
    may("replace", Function::Replace, &[W::Text, W::Text, W::Text, W::Integer], Gives::Text),
    takes("repeat", Function::Repeat, &[W::Text, W::Integer], Gives::Text),
    may("join", Function::Join, &[W::List, W::Text], Gives::Text),
    takes("indexOf", Function::IndexOf, &[W::Text, W::Text], Gives::Integer),
    takes("lastIndexOf", Function::LastIndexOf, &[W::Text, W::Text], Gives::Integer),
    takes("hasPrefix", Function::HasPrefix, &[W::Text, W::Text], Gives::Bool),
    takes("hasSuffix", Function::HasSuffix, &[W::Text, W::Text], Gives::Bool),
    many("max", Function::Greatest, &[W::Aggregate], Gives::SameAsFirst),
    many("min", Function::Least, &[W::Aggregate], Gives::SameAsFirst),
    many("mean", Function::Mean, &[W::Aggregate], Gives::SameAsFirst),
    many("median", Function::Median, &[W::Aggregate], Gives::SameAsFirst),
    takes("toJSON", Function::ToJson, &[W::Anything], Gives::Text),
    takes("fromJSON", Function::FromJson, &[W::Text], Gives::Anything),
    takes("toBase64", Function::ToBase64, &[W::Text], Gives::Text),
    takes("fromBase64", Function::FromBase64, &[W::Text], Gives::Text),
    takes("now", Function::Now, &[], Gives::Moment),
    takes("duration", Function::Duration, &[W::Text], Gives::Duration),
    takes("date", Function::Date, &[W::Unchecked], Gives::Moment),
    takes("first", Function::First, &[W::List], Gives::Anything),
    takes("last", Function::Last, &[W::List], Gives::Anything),
    takes("get", Function::Get, &[W::Unchecked, W::Unchecked], Gives::Anything),
    takes("take", Function::Take, &[W::List, W::Count], Gives::ListLikeFirst),
    takes("keys", Function::Keys, &[W::Map], Gives::List),
    takes("values", Function::Values, &[W::Map], Gives::List),
    takes("toPairs", Function::ToPairs, &[W::Map], Gives::List),
    takes("fromPairs", Function::FromPairs, &[W::List], Gives::MapOfAnyKey),
    takes("reverse", Function::Reverse, &[W::List], Gives::List),
    takes("uniq", Function::Unique, &[W::List], Gives::List),
    many("concat", Function::Concat, &[W::List], Gives::List),
    takes("flatten", Function::Flatten, &[W::List], Gives::List),
    may("sort", Function::Sort, &[W::List, W::Text], Gives::List),
    takes("bitand", Function::BitAnd, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitor", Function::BitOr, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitxor", Function::BitXor, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitnand", Function::BitAndNot, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitshl", Function::ShiftLeft, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitshr", Function::ShiftRight, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitushr", Function::ShiftRightUnsigned, &[W::Integer, W::Integer], Gives::Integer),
    takes("bitnot", Function::BitNot, &[W::Integer], Gives::Integer),
    takes("asInt", Function::AsInteger, &[W::Anything], Gives::Integer),
    takes("asFloat", Function::AsFloat, &[W::Anything], Gives::Float),
    takes("isNaN", Function::IsNan, &[W::Float], Gives::Bool),
    takes("isInf", Function::IsInfinite, &[W::Float], Gives::Bool),
    takes("isNil", Function::IsNil, &[W::Anything], Gives::Bool),
    takes("default", Function::Default, &[W::Anything, W::Anything], Gives::Anything),
];
