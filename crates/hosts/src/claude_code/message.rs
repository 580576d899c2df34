//! A message as the model was sent it, or sent it: its blocks, in their order.

use std::borrow::Cow;

use crate::json::{fields_of_each, text};

/// A block of a message that can matter.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A call that the model made, as it is sent: its tool and arguments may be others than those that were recorded.
    Call { id: String, tool: String, input: Vec<u8> },
    /// The result of a call. Without a text if it is more than one block of text.
    Result { id: String, text: Option<String>, all: String, failed: bool },
    /// Text that is in no result.
    Text(String),
}

/// The blocks of a message; `None` if its content is neither a text nor a list of blocks.
pub(super) fn parts(content: &[u8]) -> Option<Vec<Part>> {
    if content.starts_with(b"\"") {
        return Some(vec![Part::Text(text(content)?.into_owned())]);
    }
    if content == b"[]" {
        return Some(Vec::new());
    }
    const NAMES: [&str; 8] = ["type", "text", "id", "tool_use_id", "content", "is_error", "name", "input"];
    let mut parts = Vec::new();
    for [kind, said, id, result_of, content, failed, tool, input] in fields_of_each(content, &NAMES)? {
        match text(kind?)?.as_ref() {
            "text" => parts.push(Part::Text(owned(said)?)),
            "tool_use" => {
                let input = input.unwrap_or_default().to_vec();
                parts.push(Part::Call { id: owned(id)?, tool: owned(tool).unwrap_or_default(), input });
            }
            "tool_result" => parts.push(Part::Result {
                id: owned(result_of)?,
                text: content.and_then(text_of),
                all: content.map(all_text).unwrap_or_default(),
                failed: failed.is_some_and(|failed| failed != b"false"),
            }),
            _ => {}
        }
    }
    Some(parts)
}

fn owned(raw: Option<&[u8]>) -> Option<String> {
    raw.and_then(text).map(Cow::into_owned)
}

/// All text of a result.
fn all_text(content: &[u8]) -> String {
    if content.starts_with(b"\"") {
        return text(content).map(Cow::into_owned).unwrap_or_default();
    }
    let blocks = fields_of_each(content, &["text"]).unwrap_or_default();
    blocks.into_iter().filter_map(|[said]| owned(said)).collect::<Vec<_>>().join("\n")
}

/// The text of a result that is a string or one block of text.
pub(super) fn text_of(content: &[u8]) -> Option<String> {
    if content.starts_with(b"\"") {
        return text(content).map(Cow::into_owned);
    }
    match fields_of_each(content, &["type", "text"])?.as_slice() {
        [[kind, said]] if text((*kind)?)? == "text" => owned(*said),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_in_their_order() {
        let content = r#"[{"type":"thinking","thinking":"t"},{"type":"text","text":"a"},{"type":"tool_use","id":"c","name":"Read","input":{}},
            {"tool_use_id":"c","type":"tool_result","content":"x","is_error":true},{"tool_use_id":"d","type":"tool_result","content":[{"type":"text","text":"y"}]},
            {"tool_use_id":"e","type":"tool_result","content":[{"type":"image"}]}]"#;
        let result = |id: &str, text: Option<&str>, failed| {
            let all = text.unwrap_or_default().into();
            Part::Result { id: id.into(), text: text.map(Into::into), all, failed }
        };
        let expected = vec![
            Part::Text("a".into()),
            Part::Call { id: "c".into(), tool: "Read".into(), input: b"{}".to_vec() },
            result("c", Some("x"), true),
            result("d", Some("y"), false),
            result("e", None, false),
        ];
        assert_eq!(parts(content.as_bytes()), Some(expected));
        assert_eq!(parts(b"\"said\""), Some(vec![Part::Text("said".into())]));
        assert_eq!(parts(b"[]"), Some(Vec::new()));
        assert_eq!(parts(b"7"), None);
        assert_eq!(parts(br#"[{"type":"tool_use"}]"#), None);
    }
}
