//! Text to expressions.

use super::Expression;

/// What is wrong with a text, and in which column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    pub column: usize,
    pub message: String,
}

/// Parses a revset such as `main | ::feature`.
pub fn parse_revset(text: &str) -> Result<Expression, ParseError> {
    let mut sides = text.split('|');
    let first = parse_term(sides.next().unwrap_or_default(), 1)?;
    let mut column = text.find('|').map_or(0, |at| at + 2);
    let mut all = first;
    for side in sides {
        let next = parse_term(side, column)?;
        all = Expression::Union(Box::new(all), Box::new(next));
        column += side.len() + 1;
    }
    Ok(all)
}

fn parse_term(text: &str, column: usize) -> Result<Expression, ParseError> {
    let text = text.trim();
    if let Some(rest) = text.strip_prefix("::") {
        return Ok(Expression::Ancestors(Box::new(parse_name(rest, column + 2)?)));
    }
    parse_name(text, column)
}

fn parse_name(text: &str, column: usize) -> Result<Expression, ParseError> {
    if text.is_empty() {
        return Err(ParseError { column, message: "a name is missing".to_owned() });
    }
    if let Some(at) = text.find(|c: char| !c.is_alphanumeric() && !"-_/".contains(c)) {
        return Err(ParseError { column: column + at, message: format!("unexpected character in {text:?}") });
    }
    Ok(Expression::Name(text.to_owned()))
}
