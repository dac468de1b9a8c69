//! Reads calls that come whole or in pieces.
//!
//! Servers disagree about the index, the id and the name on the pieces of a call. [`Calls::place`] has the rules that
//! assign each piece to its call for all known servers. `docs/models.md` lists the deviations that are repaired.
// L234, L236

mod piece;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use pleach_core::{Bytes, FunctionCall, IdGen, Map, Part};
use pleach_model::CLIENT_CALL_ID_PREFIX;
use serde_json::Value;

use self::piece::Piece;
use crate::arguments::{ArgumentText, CallFaults};

/// The calls of one answer, in the order in which they began.
#[derive(Debug, Default)]
pub(super) struct Calls {
    calls: Vec<Call>,
    /// The last call of each index.
    by_index: HashMap<u64, usize>,
    /// The last call of each of the server's ids.
    by_id: HashMap<String, usize>,
    /// Chains of calls that may be pieces of a single call, by the index of the first call of the chain.
    chains: HashMap<usize, Chain>,
    /// The number of calls that may turn out to be pieces of other calls.
    doubtful: usize,
    faults: CallFaults,
}

/// The maximum number of doubtful calls that [`Calls::len`] leaves out.
const MOST_PIECES: usize = 100_000;

/// A possible call that a server sent in pieces, each with a new id and the name of the call.
#[derive(Debug)]
struct Chain {
    arguments: ArgumentText,
    /// Whether the pieces can be one call: none is a whole object with members, and no id came twice.
    is_possible: bool,
}

#[derive(Debug)]
struct Call {
    /// The server's id.
    given_id: Option<String>,
    /// The id in the log, which no other call of the answer has.
    id: String,
    name: String,
    arguments: ArgumentText,
    signature: Option<Bytes>,
    doubt: Doubt,
    /// Whether the arguments are an object. This is only set for calls that may continue another call.
    is_object: bool,
    is_announced: bool,
}

/// The reason to doubt that a call is a new one. It may repeat or continue an earlier call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doubt {
    None,
    /// It has the name of a whole call, but no arguments so far.
    IfBlank,
    /// It has the id and the name of a whole call.
    SameId,
    /// It has a new id, but the name of the open call at its index, which is not whole. It may continue that call. The
    /// value is the index of the first call of its chain.
    MayContinue(usize),
}

/// The call that a piece belongs to: an existing one, by its index in the list, or a new one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Call(usize),
    New(Doubt),
}

impl Calls {
    /// Returns how many calls have begun.
    pub(super) fn len(&self) -> usize {
        self.calls.len() - self.doubtful.min(MOST_PIECES)
    }

    /// Returns true if no call has come. Empty pieces are not calls.
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.calls.iter().all(|call| call.name.is_empty() && call.arguments.is_blank())
    }

    /// Adds a whole call.
    pub(super) fn push_whole(&mut self, call: &Value, ids: &dyn IdGen) {
        let piece = Piece::read(call);
        if piece.name.is_none() && (piece.id.is_some() || !piece.is_blank()) {
            return self.faults.add_nameless(piece.id.as_deref().unwrap_or_default());
        }
        let place = self.begin(&piece, Doubt::None, ids);
        self.calls[place].extend(&piece);
    }

    /// Adds a piece of a call. If the piece makes a call certain, returns the beginning of that call. `is_tool` returns
    /// true for the names of functions that may be called.
    pub(super) fn push_piece(
        &mut self,
        piece: &Value,
        is_tool: impl Fn(&str) -> bool,
        ids: &dyn IdGen,
    ) -> Option<FunctionCall> {
        let piece = Piece::read(piece);
        let is_known = piece.id.as_ref().is_some_and(|id| self.by_id.contains_key(&**id));
        let place = match self.place(&piece, is_tool) {
            Place::Call(place) => place,
            Place::New(doubt) => self.begin(&piece, doubt, ids),
        };
        let was_doubtful = self.calls[place].is_doubtful();
        self.calls[place].extend(&piece);
        self.extend_chain(place, &piece, is_known);
        self.doubtful = self.doubtful + usize::from(self.calls[place].is_doubtful()) - usize::from(was_doubtful);
        if let Some(index) = piece.index {
            self.by_index.insert(index, place);
        }
        if let Some(id) = &piece.id {
            let is_new = self.by_id.insert(id.to_string(), place).is_none();
            self.calls[place].identify(id, is_new);
        }
        self.calls[place].announce()
    }

    /// Finds the call of a piece: the call with its id at any index, otherwise the call at its index, otherwise the
    /// last call.
    ///
    /// A piece with a name begins a new call if the call that it would continue has a name and whole arguments.
    fn place(&self, piece: &Piece<'_>, is_tool: impl Fn(&str) -> bool) -> Place {
        let known = piece.id.as_ref().and_then(|id| self.by_id.get(&**id)).copied();
        let at_index = piece.index.and_then(|index| self.by_index.get(&index)).copied();
        let last = self.calls.len().checked_sub(1);
        match (known, piece.name) {
            (Some(place), None) => Place::Call(place),
            (Some(place), Some(name)) => self.place_named(place, name, true, piece, is_tool),
            (None, None) if piece.id.is_none() => at_index.or(last).map_or(Place::New(Doubt::None), Place::Call),
            // Some servers write a new id on each piece.
            (None, None) => match at_index.or(last.filter(|_| piece.index.is_none())) {
                Some(place) => Place::Call(place),
                None => Place::New(Doubt::None),
            },
            (None, Some(name)) => {
                let open = if piece.index.is_some() { at_index } else { last };
                // A new id begins another call, unless the open call has no id so far.
                match open {
                    Some(place) if piece.id.is_none() || self.calls[place].given_id.is_none() => {
                        self.place_named(place, name, false, piece, is_tool)
                    }
                    Some(place) if self.calls[place].name == name => Place::New(self.doubt_after(place, piece)),
                    _ => Place::New(Doubt::None),
                }
            }
        }
    }

    /// Decides whether a piece with a name continues the call at this index.
    fn place_named(
        &self,
        place: usize,
        name: &str,
        has_its_id: bool,
        piece: &Piece<'_>,
        is_tool: impl Fn(&str) -> bool,
    ) -> Place {
        let call = &self.calls[place];
        if call.name.is_empty() {
            return Place::Call(place);
        }
        if call.name != name {
            // A name in pieces comes before the arguments.
            let is_other = !call.arguments.is_blank()
                || call.doubt != Doubt::None
                || (piece.id.is_some() && !has_its_id)
                || (is_tool(&call.name) && is_tool(name));
            return if is_other { Place::New(Doubt::None) } else { Place::Call(place) };
        }
        match (call.arguments.is_whole(), has_its_id) {
            (false, _) => Place::Call(place),
            (true, true) if call.arguments.is_nothing() => Place::Call(place),
            (true, true) => Place::New(Doubt::SameId),
            (true, false) if piece.is_blank() => Place::New(Doubt::IfBlank),
            (true, false) => Place::New(Doubt::None),
        }
    }

    /// Decides whether a piece with a new id may continue the call at this index, which has the same name.
    fn doubt_after(&self, place: usize, piece: &Piece<'_>) -> Doubt {
        let call = &self.calls[place];
        let first = call.first_of_chain(place);
        let chain = self.chains.get(&first).filter(|chain| chain.is_possible);
        let arguments = chain.map_or(&call.arguments, |chain| &chain.arguments);
        match (arguments.is_whole(), piece.is_blank()) {
            (true, true) if chain.is_some() => Doubt::IfBlank,
            (true, _) => Doubt::None,
            (false, true) if arguments.is_blank() => Doubt::None,
            (false, _) => Doubt::MayContinue(first),
        }
    }

    /// Adds a piece to the chain of its call, if there is one.
    fn extend_chain(&mut self, place: usize, piece: &Piece<'_>, is_known: bool) {
        let first = self.calls[place].first_of_chain(place);
        if !self.chains.contains_key(&first) {
            if first == place {
                return;
            }
            let arguments = self.calls[first].arguments.clone();
            self.chains.insert(first, Chain { is_possible: true, arguments });
        }
        let Some(chain) = self.chains.get_mut(&first) else { return };
        let own = &self.calls[place];
        // An empty object may also be a nested value in the arguments.
        let is_call = own.is_object && (chain.arguments.is_blank() || !own.arguments.is_nothing());
        chain.is_possible &= !is_known && !is_call;
        if chain.is_possible {
            piece.add_to(&mut chain.arguments);
        } else {
            chain.arguments = ArgumentText::default();
        }
    }

    /// Joins each chain whose pieces together are one object into one call. In other chains, each piece stays a call.
    fn join_chains(&mut self) {
        let chains = std::mem::take(&mut self.chains).into_iter();
        let is_one = |chain: &Chain| chain.is_possible && chain.arguments.is_whole() && chain.arguments.read().is_ok();
        let mut joined = HashSet::new();
        for (first, chain) in chains.filter(|(_, chain)| is_one(chain)) {
            self.calls[first].arguments = chain.arguments;
            joined.insert(first);
        }
        self.calls.retain(|call| !matches!(call.doubt, Doubt::MayContinue(first) if joined.contains(&first)));
    }

    fn begin(&mut self, piece: &Piece<'_>, doubt: Doubt, ids: &dyn IdGen) -> usize {
        let place = self.calls.len();
        let given_id = piece.id.as_deref().map(str::to_owned);
        // An id that another call has cannot pair this call with its result.
        let id = match &given_id {
            Some(id) if !self.by_id.contains_key(id) => id.clone(),
            _ => format!("{CLIENT_CALL_ID_PREFIX}{}", ids.uuid()),
        };
        if let Some(id) = &given_id {
            self.by_id.insert(id.clone(), place);
        }
        self.calls.push(Call {
            given_id,
            id,
            name: String::new(),
            arguments: ArgumentText::default(),
            signature: None,
            doubt,
            is_object: false,
            is_announced: false,
        });
        self.doubtful += usize::from(self.calls[place].is_doubtful());
        place
    }

    /// Returns the calls. A call that repeats id, name and arguments of another one is left out.
    ///
    /// # Errors
    /// The fault, with the names of the calls.
    pub(super) fn into_parts(mut self) -> Result<Vec<Part>, String> {
        self.join_chains();
        let mut parts = Vec::new();
        let mut faults = self.faults;
        let mut seen = Seen::default();
        for call in self.calls {
            if call.is_repetition() {
                continue;
            }
            match call.arguments.read() {
                Err(fault) => faults.add(call.name, fault),
                Ok(_) if call.name.is_empty() => {
                    // An empty piece is not a call.
                    if !call.arguments.is_blank() {
                        faults.add_nameless(call.given_id.as_deref().unwrap_or_default());
                    }
                }
                Ok(arguments) => {
                    if seen.is_new(&call, &arguments) {
                        parts.push(call.into_part(arguments));
                    }
                }
            }
        }
        match faults.into_text() {
            None => Ok(parts),
            Some(text) => Err(text),
        }
    }
}

impl Call {
    fn extend(&mut self, piece: &Piece<'_>) {
        if let Some(name) = piece.name
            // Some servers repeat the name on every piece.
            && name != self.name
        {
            self.name.push_str(name);
        }
        piece.add_to(&mut self.arguments);
        if matches!(self.doubt, Doubt::MayContinue(_)) && !piece.is_blank() {
            self.is_object = self.arguments.is_object();
        }
        if self.signature.is_none() {
            self.signature.clone_from(&piece.signature);
        }
    }

    /// Sets an id that comes after the call has begun. An announced call keeps its id in the log.
    fn identify(&mut self, id: &str, is_new: bool) {
        if self.given_id.is_none() {
            self.given_id = Some(id.to_owned());
            if is_new && !self.is_announced {
                id.clone_into(&mut self.id);
                self.doubt = Doubt::None;
            }
        }
    }

    /// Returns the beginning of the call, once, as soon as it is certain to be a call of its own.
    fn announce(&mut self) -> Option<FunctionCall> {
        let is_certain = match self.doubt {
            Doubt::None => true,
            Doubt::IfBlank => !self.arguments.is_blank(),
            Doubt::SameId => false,
            Doubt::MayContinue(_) => self.is_object,
        };
        if self.is_announced || !is_certain || self.name.is_empty() {
            return None;
        }
        self.is_announced = true;
        Some(FunctionCall {
            id: Some(self.id.clone()),
            name: Some(self.name.clone()),
            will_continue: Some(true),
            ..FunctionCall::default()
        })
    }

    fn is_repetition(&self) -> bool {
        match self.doubt {
            Doubt::None | Doubt::MayContinue(_) => false,
            Doubt::IfBlank => self.arguments.is_blank(),
            Doubt::SameId => self.arguments.is_nothing(),
        }
    }

    /// Returns true if the call may still turn out to be a piece of another call.
    fn is_doubtful(&self) -> bool {
        matches!(self.doubt, Doubt::MayContinue(_)) && !self.is_object
    }

    /// Returns the index of the first call in the chain of this call, or `place` (its own index) if it has no chain.
    fn first_of_chain(&self, place: usize) -> usize {
        match self.doubt {
            Doubt::MayContinue(first) => first,
            _ => place,
        }
    }

    fn into_part(self, arguments: Map) -> Part {
        let call = FunctionCall::new(self.id, self.name, arguments);
        Part { thought_signature: self.signature, ..Part::function_call(call) }
    }
}

/// The calls so far that have an id of the server.
#[derive(Default)]
struct Seen(HashMap<(String, String), HashSet<String>>);

impl Seen {
    /// Returns true if no earlier call has the same id, name and arguments. A call without an id is always new.
    fn is_new(&mut self, call: &Call, arguments: &Map) -> bool {
        let Some(id) = &call.given_id else { return true };
        let earlier = self.0.entry((id.clone(), call.name.clone())).or_default();
        earlier.insert(Value::Object(arguments.clone()).to_string())
    }
}
