//! Choosing a backend by URL.

use pleach::{ConnectError, connect};

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = format!("{error} {error:?}");
    let mut source = error.source();
    while let Some(inner) = source {
        text = format!("{text}: {inner}");
        source = inner.source();
    }
    text
}

#[tokio::test]
async fn s66_1_every_scheme_of_google_adk_is_known() {
    for scheme in ["postgres", "postgresql", "postgresql+asyncpg", "postgresql+psycopg"] {
        // Nothing listens on port 1.
        let url = format!("{scheme}://user:s3cret@127.0.0.1:1/adk");
        let error = connect(&url).await.unwrap_err();
        let text = chain(&error);
        assert!(!text.contains("s3cret"), "{text}");
        if cfg!(feature = "postgres") {
            assert!(matches!(error, ConnectError::Open { .. }), "{text}");
            assert!(text.contains("Postgres database adk at 127.0.0.1:1"), "{text}");
        } else {
            assert!(matches!(error, ConnectError::FeatureOff { feature: "postgres", .. }), "{text}");
        }
    }
    let error = connect("mysql://user:s3cret@host/adk").await.unwrap_err();
    assert!(matches!(&error, ConnectError::UnknownScheme { scheme } if scheme == "mysql"), "{error}");
    assert!(!chain(&error).contains("s3cret"));
}
