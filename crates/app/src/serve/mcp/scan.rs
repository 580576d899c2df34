//! Scans a line byte by byte for its id and the number of its JSON values, so that even a line that is too long or not
//! JSON can be answered. Accepts any input and keeps no more than an id.

use serde_json::Value;

/// The longest id that is sent back, in bytes.
const ID_BYTES: usize = 300;

/// What was seen of a line so far.
#[derive(Debug, Default)]
pub(super) struct Scan {
    depth: u32,
    /// Whether the scan is inside a string, and just after a backslash.
    string: bool,
    escaped: bool,
    /// The part of the outermost object that is being recorded.
    place: Place,
    taken: Vec<u8>,
    id: Option<Value>,
    values: u64,
}

/// The position in the outermost object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In a key, or before it.
    #[default]
    Key,
    /// In the value of another key.
    Other,
    /// In the id.
    Id,
}

impl Scan {
    /// Scans the next bytes.
    pub(super) fn feed(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.step(*byte);
        }
    }

    /// The id, if it is valid and short enough.
    pub(super) fn id(&mut self) -> Option<Value> {
        self.end_value();
        self.id.take()
    }

    /// An upper bound of the number of values.
    pub(super) fn values(&self) -> u64 {
        self.values
    }

    fn step(&mut self, byte: u8) {
        let top = self.depth == 1;
        if self.string {
            self.take(byte);
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.string = false,
                _ => {}
            }
            return;
        }
        match byte {
            b'"' => {
                self.string = true;
                self.take(byte);
            }
            b'{' | b'[' => {
                self.values += 1;
                // An object is not a valid id.
                self.take(byte);
                self.depth = self.depth.saturating_add(1);
            }
            b'}' | b']' => {
                if top {
                    self.end_value();
                }
                self.depth = self.depth.saturating_sub(1);
            }
            b',' => {
                self.values += 1;
                if top {
                    self.end_value();
                }
            }
            b':' if top && self.place == Place::Key => {
                self.place = if self.taken == br#""id""# { Place::Id } else { Place::Other };
                self.taken.clear();
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => self.take(byte),
        }
    }

    fn take(&mut self, byte: u8) {
        if self.depth == 1 && self.place != Place::Other && self.taken.len() <= ID_BYTES {
            self.taken.push(byte);
        }
    }

    fn end_value(&mut self) {
        if self.place == Place::Id && self.id.is_none() && self.taken.len() <= ID_BYTES {
            let id = serde_json::from_slice::<Value>(&self.taken).ok();
            self.id = id.filter(is_id);
        }
        self.taken.clear();
        self.place = Place::Key;
    }
}

/// Whether a value is an id in the protocol's sense.
pub(super) fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(line: impl AsRef<[u8]>) -> Option<Value> {
        let mut scan = Scan::default();
        // For each way of splitting the input.
        let (first, rest) = line.as_ref().split_at(line.as_ref().len() / 2);
        scan.feed(first);
        scan.feed(rest);
        scan.id()
    }

    #[test]
    fn the_id_of_the_outermost_object() {
        for (line, found) in [
            (r#"{"jsonrpc":"2.0","id":7,"method":"x"}"#, Some(json!(7))),
            (r#"{ "id" : "a,}b" }"#, Some(json!("a,}b"))),
            (r#"{"id":"q\"\\"}"#, Some(json!("q\"\\"))),
            (r#"{"params":{"id":1},"id":2}"#, Some(json!(2))),
            (r#"{"params":{"id":1,"a":["id",{"id":3}]},"x":"\"id\":4"}"#, None),
            (r#"{"a":"\ud83d","id":5}"#, Some(json!(5))),
            (r#"{"a":1e999,"id":-6,"#, Some(json!(-6))),
            (r#"{"id":8"#, Some(json!(8))),
            (r#"{"id":1.5}"#, None),
            (r#"{"id":null}"#, None),
            (r#"{"id":{"id":9}}"#, None),
            (r#"{"id":[9]}"#, None),
            (r#"[{"id":1}]"#, None),
            (r#""id":1"#, None),
            ("", None),
            ("}}}]],,::\"", None),
        ] {
            assert_eq!(id(line), found, "{line}");
        }
        assert_eq!(id(b"{\"a\":\"\xff\xfe\x01\",\"id\":3}"), Some(json!(3)));
        assert_eq!(id(format!("{{\"id\":\"{}\"}}", "x".repeat(400))), None);
        assert_eq!(id(format!("{{\"a\":{}1{},\"id\":4}}", "[".repeat(200), "]".repeat(200))), Some(json!(4)));
    }

    #[test]
    fn values_are_counted_outside_strings() {
        let count = |line: &str| {
            let mut scan = Scan::default();
            scan.feed(line.as_bytes());
            scan.values()
        };
        assert_eq!(count(r#"{"a":"[,,,{"}"#), 1);
        assert!(count(&format!("[{}0]", "[],".repeat(1000))) >= 1000);
    }
}
