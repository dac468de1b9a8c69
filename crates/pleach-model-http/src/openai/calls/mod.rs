//! Calls, whole or in pieces.
//!
//! Servers disagree about the index, the id and the name on the pieces of a call. The rules of [`Calls::place`] put
//! each piece where the habits of all of them agree; `docs/models.md` lists what is repaired.
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
    /// Calls that may be one, by the place of the first of them.
    chains: HashMap<usize, Chain>,
    /// How many calls may be pieces of others, as far as is known.
    doubtful: usize,
    faults: CallFaults,
}

/// How many pieces of calls that have ids of their own count as parts of others.
const MOST_PIECES: usize = 100_000;

/// A call whose every piece has another id, and the name again: pieces that are whole only together.
#[derive(Debug)]
struct Chain {
    arguments: ArgumentText,
    /// Whether no piece is an object with members by itself, and no id came twice.
    is_possible: bool,
}

#[derive(Debug)]
struct Call {
    /// The server's id.
    given_id: Option<String>,
    /// The id in the log, different from that of every other call of the answer.
    id: String,
    name: String,
    arguments: ArgumentText,
    signature: Option<Bytes>,
    doubt: Doubt,
    /// Whether the arguments are an object, as far as it is looked at: of calls that may continue others.
    is_object: bool,
    is_announced: bool,
}

/// Whether a call may be a repetition of the one before it.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Doubt {
    None,
    /// It has the name of a call that was whole, and no arguments so far.
    IfBlank,
    /// It has the id and the name of a call that was whole.
    SameId,
    /// It has another id, and the name of the call that its index has and that is not whole. It may continue that call: it belongs to
    /// the chain that begins at this place.
    MayContinue(usize),
}

/// Where a piece belongs.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Call(usize),
    New(Doubt),
}

impl Calls {
    /// How many calls have begun.
    pub(super) fn len(&self) -> usize {
        self.calls.len() - self.doubtful.min(MOST_PIECES)
    }

    /// Whether nothing of a call has come: pieces with nothing in them are none.
    pub(super) fn is_empty(&self) -> bool {
        self.faults.is_empty() && self.calls.iter().all(|call| call.name.is_empty() && call.arguments.is_blank())
    }

    /// Takes a whole call in.
    pub(super) fn push_whole(&mut self, call: &Value, ids: &dyn IdGen) {
        let piece = Piece::read(call);
        if piece.name.is_none() && (piece.id.is_some() || !piece.is_blank()) {
            return self.faults.add_nameless(piece.id.as_deref().unwrap_or_default());
        }
        let place = self.begin(&piece, Doubt::None, ids);
        self.calls[place].extend(&piece);
    }

    /// Takes a piece of a call in; returns the call as it begins, when the piece begins one. `is_tool` knows the names of
    /// the functions that may be called.
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

    /// Finds the call of a piece: that of its id, at whatever index, else that of its index, else the last one.
    ///
    /// A name begins another call when the call that the piece would continue has a name and whole arguments.
    fn place(&self, piece: &Piece<'_>, is_tool: impl Fn(&str) -> bool) -> Place {
        let known = piece.id.as_ref().and_then(|id| self.by_id.get(&**id)).copied();
        let at_index = piece.index.and_then(|index| self.by_index.get(&index)).copied();
        let last = self.calls.len().checked_sub(1);
        match (known, piece.name) {
            (Some(place), None) => Place::Call(place),
            (Some(place), Some(name)) => self.place_named(place, name, true, piece, is_tool),
            (None, None) if piece.id.is_none() => at_index.or(last).map_or(Place::New(Doubt::None), Place::Call),
            // Some servers write another id on each piece.
            (None, None) => match at_index.or(last.filter(|_| piece.index.is_none())) {
                Some(place) => Place::Call(place),
                None => Place::New(Doubt::None),
            },
            (None, Some(name)) => {
                let open = if piece.index.is_some() { at_index } else { last };
                // A new id is that of another call, unless it comes late.
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

    /// Decides whether a piece with a name continues the call at this place.
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

    /// Decides whether a piece with a new id may continue the call of this place, which has the same name.
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
        // An empty object may be a value in the arguments.
        let is_call = own.is_object && (chain.arguments.is_blank() || !own.arguments.is_nothing());
        chain.is_possible &= !is_known && !is_call;
        if chain.is_possible {
            piece.add_to(&mut chain.arguments);
        } else {
            chain.arguments = ArgumentText::default();
        }
    }

    /// Makes one call of each chain whose pieces are an object together. Without one, each of them is a call.
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
        // An id that another call has cannot pair this one with its result.
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
                    // A piece with nothing in it is no call.
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

    /// Takes over an id that comes after the begin of the call, as long as the call is not announced under another one.
    fn identify(&mut self, id: &str, is_new: bool) {
        if self.given_id.is_none() {
            self.given_id = Some(id.to_owned());
            if is_new && !self.is_announced {
                id.clone_into(&mut self.id);
                self.doubt = Doubt::None;
            }
        }
    }

    /// Returns the call as it begins, once it is certain that it is one.
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

    /// Whether the call is a piece of another one, as far as is known.
    fn is_doubtful(&self) -> bool {
        matches!(self.doubt, Doubt::MayContinue(_)) && !self.is_object
    }

    /// The place of the call that this one at `place` may continue, or its own.
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

/// The calls so far with an id of the server's.
#[derive(Default)]
struct Seen(HashMap<(String, String), HashSet<String>>);

impl Seen {
    /// Whether no earlier call has the id, the name and the arguments of this one. Calls without an id are all new.
    fn is_new(&mut self, call: &Call, arguments: &Map) -> bool {
        let Some(id) = &call.given_id else { return true };
        let earlier = self.0.entry((id.clone(), call.name.clone())).or_default();
        earlier.insert(Value::Object(arguments.clone()).to_string())
    }
}
