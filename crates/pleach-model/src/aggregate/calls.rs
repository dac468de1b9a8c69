//! A call whose arguments arrive in pieces.

use pleach_core::{Bytes, FunctionCall, IdGen, Map, Part};

use super::arguments::Arguments;
use crate::{CLIENT_CALL_ID_PREFIX, is_client_call_id};

/// A call that more pieces may follow.
#[derive(Debug)]
pub(super) struct ActiveCall {
    id: String,
    name: Option<String>,
    arguments: Arguments,
    signature: Option<Bytes>,
}

/// Returns true if a call is a piece of a streamed call: it has argument pieces or sets `will_continue`, or another
/// call is open and this one has no arguments.
pub(super) fn is_piece(call: &FunctionCall, is_open: bool) -> bool {
    let has_pieces = call
        .partial_args
        .as_ref()
        .is_some_and(|pieces| pieces.as_value().as_array().is_some_and(|pieces| !pieces.is_empty()));
    let has_arguments = call.args.as_ref().is_some_and(|args| !args.is_empty());
    has_pieces || call.will_continue.is_some() || (is_open && !has_arguments)
}

/// Sets the id of a call that has none.
// L157
pub(super) fn ensure_id(call: &mut FunctionCall, ids: &dyn IdGen) {
    if call.id.as_ref().is_none_or(String::is_empty) {
        call.id = Some(format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid()));
    }
}

impl ActiveCall {
    /// Opens a call with the id of its first piece.
    pub(super) fn new(first: &mut FunctionCall, ids: &dyn IdGen) -> Self {
        ensure_id(first, ids);
        let id = first.id.clone().unwrap_or_default();
        Self { id, name: None, arguments: Arguments::default(), signature: None }
    }

    /// Returns true if a piece belongs to another call: it has a different name, or a different id from the model.
    pub(super) fn is_other_than(&self, piece: &FunctionCall) -> bool {
        let differs = |ours: Option<&str>, theirs: &Option<String>| {
            let theirs = theirs.as_deref().filter(|theirs| !theirs.is_empty());
            ours.zip(theirs).is_some_and(|(ours, theirs)| ours != theirs)
        };
        let own_id = Some(self.id.as_str()).filter(|id| !is_client_call_id(id));
        differs(self.name.as_deref(), &piece.name) || differs(own_id, &piece.id)
    }

    /// Takes in a piece, and sets its id to the id of the call.
    pub(super) fn take(&mut self, piece: &mut FunctionCall) {
        piece.id = Some(self.id.clone());
        if let Some(name) = piece.name.as_ref().filter(|name| !name.is_empty()) {
            self.name = Some(name.clone());
        }
        if let Some(whole) = &piece.args {
            self.arguments.extend(whole);
        }
        let pieces = piece.partial_args.as_ref().and_then(|pieces| pieces.as_value().as_array());
        for piece in pieces.into_iter().flatten() {
            self.arguments.take(piece);
        }
    }

    /// Returns true if a piece has named the function.
    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// Keeps the first signature among the pieces.
    pub(super) fn keep_signature(&mut self, signature: Option<&Bytes>) {
        if self.signature.is_none() {
            self.signature = signature.cloned();
        }
    }

    /// Returns the whole call; `None` if no piece had a name.
    pub(super) fn into_part(self) -> Option<Part> {
        let args: Map = self.arguments.finish();
        let call =
            FunctionCall { id: Some(self.id), name: Some(self.name?), args: Some(args), ..FunctionCall::default() };
        Some(Part { thought_signature: self.signature, ..Part::function_call(call) })
    }
}
