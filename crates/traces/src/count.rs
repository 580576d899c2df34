//! Tokens of a text: exactly, by the vocabulary of o200k, or estimated from its bytes.

use crate::TracesError;

/// How tokens are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    /// Exactly, as the tokenizer o200k_base does.
    O200k,
    /// A quarter of the bytes.
    Estimated,
}

impl Counted {
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Estimated => "bytes/4",
        }
    }
}

pub(crate) struct Counter {
    #[cfg(feature = "tokens")]
    o200k: tiktoken_rs::CoreBPE,
}

#[cfg(feature = "tokens")]
impl Counter {
    pub(crate) fn new() -> Result<Self, TracesError> {
        let o200k = tiktoken_rs::o200k_base().map_err(|error| TracesError::Tokens(error.to_string()))?;
        Ok(Self { o200k })
    }

    #[allow(clippy::unused_self, reason = "the other kind of counter has the same methods")]
    pub(crate) fn counted(&self) -> Counted {
        Counted::O200k
    }

    pub(crate) fn tokens(&self, text: &str) -> u64 {
        self.o200k.encode_ordinary(text).len() as u64
    }
}

#[cfg(not(feature = "tokens"))]
impl Counter {
    #[allow(clippy::unnecessary_wraps, reason = "the other kind of counter may fail")]
    pub(crate) fn new() -> Result<Self, TracesError> {
        Ok(Self {})
    }

    #[allow(clippy::unused_self, reason = "the other kind of counter has the same methods")]
    pub(crate) fn counted(&self) -> Counted {
        Counted::Estimated
    }

    #[allow(clippy::unused_self, reason = "the other kind of counter has the same methods")]
    pub(crate) fn tokens(&self, text: &str) -> u64 {
        (text.len() as u64).div_ceil(4)
    }
}
