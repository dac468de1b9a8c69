//! Writes parameters in OpenAPI's styles, which are based on URI templates (RFC 6570).

use serde_json::Value;

use super::shape::{Shape, Written, encoded, scalar};
use crate::document::{Coding, Style};

/// Writes a value into a path.
pub(crate) fn in_path(name: &str, style: Style, explode: bool, value: Written) -> String {
    let name = encoded(name);
    match style {
        Style::Label => format!(".{}", joined(value, if explode { "." } else { "," }, explode)),
        Style::Matrix => match value {
            Written::One(text) if text.is_empty() => format!(";{name}"),
            Written::List(items) if explode => items.iter().map(|item| format!(";{name}={item}")).collect(),
            Written::Fields(fields) if explode => {
                fields.iter().map(|(field, item)| format!(";{field}={item}")).collect()
            }
            other => format!(";{name}={}", joined(other, ",", false)),
        },
        _ => joined(value, ",", explode),
    }
}

/// Joins the parts; exploded fields are written `name=value`.
pub(crate) fn joined(value: Written, separator: &str, explode: bool) -> String {
    match value {
        Written::One(text) => text,
        Written::List(items) => items.join(separator),
        Written::Fields(fields) => {
            let between = if explode { "=" } else { separator };
            fields.iter().map(|(name, value)| format!("{name}{between}{value}")).collect::<Vec<_>>().join(separator)
        }
    }
}

/// Writes a value as the pairs of a query, percent-encoded. An empty list has no pair.
pub(crate) fn in_query(name: &str, coding: Coding, value: &Value) -> Result<Vec<Pair>, &'static str> {
    let (style, explode) = match coding {
        Coding::Json => return Ok(vec![Pair::new(name, &value.to_string())]),
        Coding::Styled { style: Style::DeepObject, .. } => return deep(name, value),
        Coding::Styled { style, explode } => (style, explode),
    };
    let separator = match style {
        Style::SpaceDelimited => "%20",
        Style::PipeDelimited => "%7C",
        _ => ",",
    };
    Ok(match Shape::of(value)? {
        Shape::List(items) if explode => items.iter().map(|item| Pair::new(name, item)).collect(),
        Shape::Fields(fields) if explode => fields.iter().map(|(field, value)| Pair::new(field, value)).collect(),
        Shape::List(items) if items.is_empty() => Vec::new(),
        Shape::Fields(fields) if fields.is_empty() => Vec::new(),
        shape => vec![Pair { name: name.to_owned(), value: joined(shape.map(encoded), separator, false) }],
    })
}

/// Writes `name[field]=value`. OpenAPI does not define lists and nested fields; they are written in the form that most
/// servers read, for example `name[0]`.
fn deep(name: &str, value: &Value) -> Result<Vec<Pair>, &'static str> {
    let parts: Vec<(String, &Value)> = match value {
        Value::Object(fields) => fields.iter().map(|(field, value)| (field.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect(),
        other => return Ok(vec![Pair::new(name, &scalar(other)?)]),
    };
    let parts = parts.into_iter().filter(|(_, value)| !value.is_null());
    let written = parts.map(|(part, value)| deep(&format!("{name}[{part}]"), value));
    Ok(written.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// A pair of a query or a form. The value is percent-encoded, the name is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl Pair {
    pub(crate) fn new(name: &str, value: &str) -> Self {
        Self { name: name.to_owned(), value: encoded(value) }
    }

    pub(crate) fn written(&self) -> String {
        format!("{}={}", encoded(&self.name), self.value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The examples are the table of OpenAPI 3.1.
    #[test]
    fn paths_have_the_styles_of_the_specification() {
        let written =
            |style, explode, value: &Value| in_path("color", style, explode, Shape::of(value).unwrap().map(encoded));
        let (one, list, fields) = (json!("blue"), json!(["blue", "black"]), json!({"R": 100, "G": 200}));
        for (style, explode, expected) in [
            (Style::Matrix, false, [";color=blue", ";color=blue,black", ";color=G,200,R,100"]),
            (Style::Matrix, true, [";color=blue", ";color=blue;color=black", ";G=200;R=100"]),
            (Style::Label, false, [".blue", ".blue,black", ".G,200,R,100"]),
            (Style::Label, true, [".blue", ".blue.black", ".G=200.R=100"]),
            (Style::Simple, false, ["blue", "blue,black", "G,200,R,100"]),
            (Style::Simple, true, ["blue", "blue,black", "G=200,R=100"]),
        ] {
            let found = [&one, &list, &fields].map(|value| written(style, explode, value));
            assert_eq!(found, expected, "{style:?} {explode}");
        }
        assert_eq!(written(Style::Matrix, false, &json!("")), ";color");
    }

    #[test]
    fn queries_have_the_styles_of_the_specification() {
        let written = |style, explode, value: &Value| {
            let pairs = in_query("color", Coding::Styled { style, explode }, value).unwrap();
            pairs.iter().map(Pair::written).collect::<Vec<_>>().join("&")
        };
        let (one, list, fields) = (json!("a b"), json!(["blue", "b&c"]), json!({"R": 100, "G": 200}));
        for (style, explode, expected) in [
            (Style::Form, true, ["color=a%20b", "color=blue&color=b%26c", "G=200&R=100"]),
            (Style::Form, false, ["color=a%20b", "color=blue,b%26c", "color=G,200,R,100"]),
            (Style::SpaceDelimited, false, ["color=a%20b", "color=blue%20b%26c", "color=G%20200%20R%20100"]),
            (Style::PipeDelimited, false, ["color=a%20b", "color=blue%7Cb%26c", "color=G%7C200%7CR%7C100"]),
            (
                Style::DeepObject,
                true,
                ["color=a%20b", "color%5B0%5D=blue&color%5B1%5D=b%26c", "color%5BG%5D=200&color%5BR%5D=100"],
            ),
        ] {
            let found = [&one, &list, &fields].map(|value| written(style, explode, value));
            assert_eq!(found, expected, "{style:?} {explode}");
        }
        assert_eq!(written(Style::DeepObject, true, &json!({"a": {"b": [1]}})), "color%5Ba%5D%5Bb%5D%5B0%5D=1");
        assert_eq!(written(Style::Form, false, &json!([])), "");
        assert_eq!(written(Style::Form, true, &json!([null, true])), "color=true");
        let nested = in_query("color", Coding::Styled { style: Style::Form, explode: true }, &json!([[1]]));
        assert!(nested.unwrap_err().contains("deeper"));
    }
}
