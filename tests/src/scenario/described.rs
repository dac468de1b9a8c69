//! The description of a node in a scenario, and the reasons why a node cannot be built from it.

use std::time::Duration;

use anyhow::Context as _;
use pleach::{BuildError, Field, FieldType, NodeError, RetryConfig, Schema};
use serde_json::{Map, Value};

/// The reason why a node cannot be built.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The runtime refuses the node, as scenarios with a construction error expect.
    Construction { class: String, rule: String, message: String },
    /// The description itself is wrong.
    Scenario(anyhow::Error),
}

impl Refusal {
    /// The refusal as an error of the node that tried to run the refused node, or as a fault of the scenario.
    pub(crate) fn into_node_error(self) -> Result<NodeError, String> {
        match self {
            Self::Construction { class, message, .. } => Ok(NodeError::new(class, message)),
            Self::Scenario(error) => Err(format!("{error:#}")),
        }
    }
}

impl From<BuildError> for Refusal {
    fn from(error: BuildError) -> Self {
        Self::Construction {
            class: error.class().to_owned(),
            rule: error.rule().to_owned(),
            message: error.to_string(),
        }
    }
}

impl From<anyhow::Error> for Refusal {
    fn from(error: anyhow::Error) -> Self {
        Self::Scenario(error)
    }
}

/// The description of one node.
pub(crate) struct Described<'a> {
    fields: &'a Map<String, Value>,
    name: &'a str,
}

impl<'a> Described<'a> {
    pub(crate) fn new(value: &'a Value, key: Option<&'a str>) -> anyhow::Result<Self> {
        let fields = value.as_object().with_context(|| format!("{value} is not a node"))?;
        let name = fields.get("name").and_then(Value::as_str).or(key);
        Ok(Self { fields, name: name.with_context(|| format!("node {value} has no name"))? })
    }

    pub(crate) fn kind(&self) -> &str {
        self.fields.get("kind").and_then(Value::as_str).unwrap_or("function")
    }

    pub(crate) fn name(&self) -> &str {
        self.name
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.fields.get(key)
    }

    /// Returns true if a field is present and neither null nor false.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.get(key).is_some_and(|value| !value.is_null() && *value != Value::Bool(false))
    }

    /// The text under a key.
    pub(crate) fn text(&self, key: &str) -> anyhow::Result<Option<&'a str>> {
        let text = |value: &'a Value| value.as_str().with_context(|| format!("`{key}` is a text"));
        self.get(key).filter(|value| !value.is_null()).map(text).transpose()
    }

    /// The items of a list that may be absent.
    pub(crate) fn list(&self, key: &str) -> impl Iterator<Item = &'a Value> {
        self.get(key).and_then(Value::as_array).into_iter().flatten()
    }

    pub(crate) fn flag(&self, key: &str) -> anyhow::Result<Option<bool>> {
        let flag = |value: &Value| value.as_bool().with_context(|| format!("`{key}` is true or false"));
        self.get(key).map(flag).transpose()
    }

    pub(crate) fn retry(&self) -> anyhow::Result<Option<RetryConfig>> {
        let policy = self.get("retry").map(|policy| serde_json::from_value(policy.clone()));
        policy.transpose().context("`retry`")
    }

    pub(crate) fn timeout(&self) -> anyhow::Result<Option<Duration>> {
        let limit = |value: &Value| value.as_u64().context("`timeout_ms` is a number of milliseconds");
        Ok(self.get("timeout_ms").map(limit).transpose()?.map(Duration::from_millis))
    }

    pub(crate) fn schema(&self, key: &str) -> anyhow::Result<Option<Schema>> {
        self.get(key).map(|described| schema(described).with_context(|| format!("`{key}`"))).transpose()
    }
}

/// `{"name", "fields": {field: type}}`; a trailing `?` marks an optional field.
fn schema(described: &Value) -> anyhow::Result<Schema> {
    let name = described.get("name").and_then(Value::as_str).unwrap_or("Schema");
    // The fields are pairs of a name and a type, in order.
    let fields = described.get("fields").and_then(Value::as_array).context("a schema has `fields`")?;
    let fields = fields.iter().map(|pair| field(pair[0].as_str().unwrap_or_default(), &pair[1]));
    let fields = fields.collect::<anyhow::Result<Vec<_>>>()?;
    Ok(Schema::model(name, fields))
}

fn field(name: &str, kind: &Value) -> anyhow::Result<Field> {
    let wanted = kind.as_str().unwrap_or_default();
    let (kind, optional) = wanted.strip_suffix('?').map_or((wanted, false), |kind| (kind, true));
    let kind = FieldType::parse(kind).with_context(|| format!("field `{name}` has the unknown type `{wanted}`"))?;
    let field = Field::new(name, kind);
    Ok(if optional { field.optional() } else { field })
}
