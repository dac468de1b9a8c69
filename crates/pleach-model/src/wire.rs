//! A macro that declares plain objects of the wire format.

/// Declares a struct of optional fields. It is written in snake_case and read in either casing; unknown keys are
/// refused.
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
