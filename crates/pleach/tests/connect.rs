//! The backend that `connect` opens for each URL.

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

#[cfg(feature = "sqlite")]
#[tokio::test]
async fn s66_1_s66_3_the_scheme_gives_a_new_file_its_layout_and_an_old_one_keeps_its_own() {
    use pleach::{SqliteLayout, SqliteSessionService};

    let folder = tempfile::tempdir().unwrap();
    for (scheme, other, layout) in
        [("sqlite", "sqlite+aiosqlite", SqliteLayout::Lite), ("sqlite+aiosqlite", "sqlite", SqliteLayout::V1)]
    {
        let file = folder.path().join(format!("{scheme}.db"));
        let missing = connect(&format!("{scheme}:///{}?mode=rw", file.display())).await.unwrap_err();
        assert!(matches!(missing, ConnectError::Open { .. }), "{missing}");
        assert!(!file.exists());
        for scheme in [scheme, other] {
            connect(&format!("{scheme}:///{}", file.display())).await.unwrap();
            assert_eq!(SqliteSessionService::open(&file).await.unwrap().layout(), layout);
        }
    }
}
