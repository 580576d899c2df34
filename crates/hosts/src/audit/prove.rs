//! Proofs that a call returned a text: the line with its place in the signed tree (C2SP tlog-proof), and beside it the nonce
//! and the text that the line's hash is of. Without these, what is left is a proof of the line.

use readproof_core::tlog::{Checkpoint, Proof, PublicKey, TILE_WIDTH, Unproved, inclusion};
use serde::{Deserialize, Serialize};

use super::{AuditError, AuditLog, CallLine, Disclosed, Line, line::commitment};
use crate::block::Sha;

/// What stands beside a proof, as JSON. Nothing of it counts before it was compared with the line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disclosure {
    #[serde(default)]
    pub v: u32,
    /// The line, byte for byte.
    pub line: String,
    /// 64 hex digits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nonce: Option<Sha>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What a proof shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proved {
    pub index: u64,
    pub checkpoint: Checkpoint,
    pub call: CallLine,
    /// The text that was returned; `None` if the proof does not disclose it.
    pub text: Option<String>,
}

/// Why a proof shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{self:?}")]
pub enum Unshown {
    /// It is not a proof.
    NotAProof,
    /// There is nothing beside it, or not what must be.
    NotDisclosed,
    /// The line is not of a call.
    NotACall,
    /// The text is not the one that the line's hash is of.
    OtherText,
    Unproved(Unproved),
}

impl AuditLog {
    /// The proof of one line, with its text if that is kept. The newest checkpoint must have the line.
    ///
    /// # Errors
    /// [`AuditError`] when there is no such line, or none that was signed.
    pub fn prove(&self, index: u64) -> Result<Proof, AuditError> {
        let entry = self.entry(index)?;
        let call = Line::parse(&entry).filter(|line| matches!(line, Line::Call(_)));
        let call = call.ok_or(AuditError::NoCall { entry: index })?;
        let part = || AuditError::Damaged { part: "checkpoint".to_owned() };
        let note = self.checkpoint()?.ok_or_else(part)?;
        let signed = Checkpoint::verified(&note, &self.key()?).map_err(AuditError::Checkpoint)?;
        if index >= signed.size {
            return Err(AuditError::NoEntry { entry: index, size: signed.size });
        }
        let missing = || AuditError::Damaged { part: format!("tile/0/{}", index / TILE_WIDTH) };
        let hashes = inclusion(index, signed.size, &self.hashes(signed.size)).ok_or_else(missing)?;
        let kept = self.disclosed(index, &call)?;
        let (nonce, text) = kept.map(|Disclosed { nonce, text }| (Sha(from(nonce)), text)).unzip();
        let line = String::from_utf8(entry).map_err(|_| missing())?;
        let extra = serde_json::to_vec(&Disclosure { v: 1, line, nonce, text }).unwrap_or_default();
        Ok(Proof { extra: Some(extra), index, hashes, checkpoint: note })
    }
}

/// Checks a proof offline, against the key of the log.
///
/// # Errors
/// [`Unshown`] says what does not hold.
pub fn check_proof(text: &str, key: &PublicKey) -> Result<Proved, Unshown> {
    let proof = Proof::parse(text).ok_or(Unshown::NotAProof)?;
    let extra = proof.extra.as_deref().ok_or(Unshown::NotDisclosed)?;
    let beside: Disclosure = serde_json::from_slice(extra).map_err(|_| Unshown::NotDisclosed)?;
    let checkpoint = proof.check(beside.line.as_bytes(), key).map_err(Unshown::Unproved)?;
    let Some(Line::Call(call)) = Line::parse(beside.line.as_bytes()) else { return Err(Unshown::NotACall) };
    let text = match (beside.nonce, beside.text) {
        (Some(nonce), Some(text)) => {
            let holds = call.returned == Some(Sha(commitment(nonce.0.as_bytes(), &text)));
            Some(text).filter(|_| holds).ok_or(Unshown::OtherText)?.into()
        }
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => return Err(Unshown::NotDisclosed),
    };
    Ok(Proved { index: proof.index, checkpoint, call: *call, text })
}

fn from(nonce: [u8; 32]) -> readproof_core::text::ContentHash {
    readproof_core::text::ContentHash::from_digest(nonce)
}
