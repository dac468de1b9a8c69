//! The tools of a request.

use std::sync::Arc;

use pleach_core::{FunctionDeclaration, Map, Owned};
use serde::de::Error as _;
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// An entry of a request's tools. ADK: `types.Tool`
///
/// JSON: `{"function_declarations": […]}`, or the object of a provider's own tool, for example `{"google_search": {}}`.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestTool {
    /// Functions that the application executes. Their declarations are shared with the tools.
    Functions(Vec<Arc<FunctionDeclaration>>),
    /// A tool that the provider executes.
    Provider(Owned),
}

struct Declarations<'a>(&'a [Arc<FunctionDeclaration>]);

impl Serialize for Declarations<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|declared| &**declared))
    }
}

impl Serialize for RequestTool {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Functions(declarations) => {
                let mut object = serializer.serialize_struct("Tool", 1)?;
                object.serialize_field("function_declarations", &Declarations(declarations))?;
                object.end()
            }
            Self::Provider(tool) => tool.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for RequestTool {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut object = Map::deserialize(deserializer)?;
        let declarations = ["function_declarations", "functionDeclarations"].map(|key| object.remove(key));
        match declarations.into_iter().flatten().next() {
            Some(declarations) if object.is_empty() => {
                let declarations = Vec::<FunctionDeclaration>::deserialize(declarations).map_err(D::Error::custom)?;
                Ok(Self::Functions(declarations.into_iter().map(Arc::new).collect()))
            }
            // An entry has one kind. Neither of two kinds is dropped silently.
            Some(_) => Err(D::Error::custom("a tool has both functions and a provider's tool: write two tools")),
            None => Ok(Self::Provider(Owned::new(Value::Object(object)))),
        }
    }
}
