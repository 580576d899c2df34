//! A language that selects commits.

mod parse;

pub use parse::{parse_revset, ParseError};

/// A parsed expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expression {
    Name(String),
    Ancestors(Box<Expression>),
    Union(Box<Expression>, Box<Expression>),
}
