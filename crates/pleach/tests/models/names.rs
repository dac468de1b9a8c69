//! Names of models, and the errors of wrong names.

use pleach::{ConnectModelError, model};

fn refused(name: &str) -> ConnectModelError {
    match model(name) {
        Ok(_) => panic!("{name} makes a model"),
        Err(error) => error,
    }
}

#[test]
fn the_error_of_a_name_without_a_provider_shows_the_form() {
    let error = refused("gpt-5-mini");
    assert_eq!(
        error.to_string(),
        "the model 'gpt-5-mini' has no provider. Write `PROVIDER:MODEL`, for example `openai:gpt-5-mini`"
    );
    let error = refused("mistral:large");
    assert!(matches!(&error, ConnectModelError::UnknownProvider { provider } if provider == "mistral"), "{error}");
}

#[test]
fn a_provider_that_is_off_names_its_feature() {
    for (name, feature, is_on) in [
        ("anthropic:", "anthropic", cfg!(feature = "anthropic")),
        ("gemini:", "gemini", cfg!(feature = "gemini")),
        ("openai:", "openai", cfg!(feature = "openai")),
        ("ollama:", "openai", cfg!(feature = "openai")),
    ] {
        let error = refused(name).to_string();
        let expected =
            if is_on { "needs the name of a model".to_owned() } else { format!("need the Cargo feature `{feature}`") };
        assert!(error.contains(&expected), "{error}");
    }
}
