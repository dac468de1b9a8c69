//! How plain objects of the wire are declared.

/// Declares a struct of optional fields: written in snake_case, read in either casing, unknown keys refused.
macro_rules! wire_object {
    (
        $(#[$doc:meta])*
        $vis:vis struct $object:ident {
            $($(#[$field_doc:meta])* $name:ident: $type:ty = $camel:literal,)+
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Default, PartialEq, serde::Serialize, serde::Deserialize)]
        #[serde(default, deny_unknown_fields)]
        $vis struct $object {
            $(
                $(#[$field_doc])*
                #[serde(alias = $camel, skip_serializing_if = "Option::is_none")]
                pub $name: Option<$type>,
            )+
        }
    };
}

pub(crate) use wire_object;
