//! Reads members of the document's objects. A member of another type is a fault.

use pleach_core::Map;
use serde_json::Value;

use crate::OpenApiFaultKind;
use crate::fault::Faults;

/// An object of the document, and its place.
#[derive(Clone, Debug)]
pub(crate) struct Object<'d> {
    pub(crate) members: &'d Map,
    pub(crate) pointer: String,
}

impl<'d> Object<'d> {
    /// Returns the value as an object.
    pub(crate) fn of(value: &'d Value, pointer: impl Into<String>, faults: &mut Faults) -> Option<Self> {
        let pointer = pointer.into();
        match value {
            Value::Object(members) => Some(Self { members, pointer }),
            _ => {
                faults.add(&pointer, OpenApiFaultKind::Expected("an object"));
                None
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&'d Value> {
        self.members.get(name).filter(|value| !value.is_null())
    }

    pub(crate) fn at(&self, name: &str) -> String {
        member(&self.pointer, name)
    }

    pub(crate) fn text(&self, name: &str, faults: &mut Faults) -> Option<&'d str> {
        let value = self.get(name)?;
        let text = value.as_str();
        if text.is_none() {
            faults.add(&self.at(name), OpenApiFaultKind::Expected("a string"));
        }
        text
    }

    pub(crate) fn required_text(&self, name: &'static str, faults: &mut Faults) -> Option<&'d str> {
        if self.get(name).is_none() {
            faults.add(&self.pointer, OpenApiFaultKind::Missing(name));
        }
        self.text(name, faults)
    }

    pub(crate) fn flag(&self, name: &str, faults: &mut Faults) -> Option<bool> {
        let value = self.get(name)?;
        let flag = value.as_bool();
        if flag.is_none() {
            faults.add(&self.at(name), OpenApiFaultKind::Expected("true or false"));
        }
        flag
    }

    pub(crate) fn object(&self, name: &str, faults: &mut Faults) -> Option<Object<'d>> {
        Object::of(self.get(name)?, self.at(name), faults)
    }

    /// Returns the items of a list, each with its place. An absent list has no items.
    pub(crate) fn items(&self, name: &str, faults: &mut Faults) -> Vec<(&'d Value, String)> {
        let pointer = self.at(name);
        match self.get(name) {
            None => Vec::new(),
            Some(Value::Array(items)) => {
                items.iter().enumerate().map(|(index, item)| (item, format!("{pointer}/{index}"))).collect()
            }
            Some(_) => {
                faults.add(&pointer, OpenApiFaultKind::Expected("a list"));
                Vec::new()
            }
        }
    }
}

/// Returns the JSON pointer of a member.
pub(crate) fn member(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}
