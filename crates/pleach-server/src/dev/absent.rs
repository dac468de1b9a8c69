//! Replies for the UI's tabs that stay empty, because this server does not have their data: tests, evaluations, the
//! builder and deployments.
// H95, H115–H117

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use axum::routing::{get, post};
use http::{StatusCode, Uri};
use serde_json::{Value, json};

use super::local::Local;
use super::upload;
use crate::api::Api;
use crate::body::CheckOnlyBody;
use crate::error::{ApiError, text_response};
use crate::json::plain;
use crate::names::is_valid;
use crate::path::{AppPath, NamePath};
use crate::query;
use crate::routes::Routes;

/// Adds the routes.
pub(super) fn add(routes: Routes) -> Routes {
    builder(evaluations(tests(routes)))
}

fn tests(routes: Routes) -> Routes {
    // These paths are routes, but a test may have the same name.
    let named = || get(no_such_test).put(put_such_test).delete(delete_such_test);
    routes
        .at("/dev/apps/{app}/tests", get(list))
        .at("/dev/apps/{app}/tests/rebuild", named().post(run_tests))
        .at("/dev/apps/{app}/tests/run", named().post(run_tests))
        .at("/dev/apps/{app}/tests/{name}", get(no_test).put(put_test).delete(delete_test))
}

fn evaluations(routes: Routes) -> Routes {
    let sets = |name: &str| format!("/dev/apps/{{app}}/{name}");
    let (new, old) = (sets("eval-sets"), sets("eval_sets"));
    let case = || get(no_item).put(put_case).delete(no_local_item);
    routes
        .at(&new, get(eval_sets).post(add_set))
        .at(&old, get(list))
        .at(&format!("{old}/{{name}}"), post(unsupported))
        .at(&format!("{new}/{{name}}/add-session"), post(add_session))
        .at(&format!("{old}/{{name}}/add_session"), post(add_session))
        .at(&format!("{old}/{{name}}/evals"), get(no_set))
        .at(&format!("{new}/{{name}}/eval-cases/{{case}}"), case())
        .at(&format!("{old}/{{name}}/evals/{{case}}"), case())
        .at(&format!("{new}/{{name}}/run"), post(evaluate))
        .at(&format!("{old}/{{name}}/run_eval"), post(evaluate))
        .at(&sets("eval-results"), get(eval_results))
        .at(&sets("eval_results"), get(list))
        .at(&sets("eval-results/{name}"), get(no_item))
        .at(&sets("eval_results/{name}"), get(no_item))
        .at(&sets("metrics-info"), get(metrics))
}

fn builder(routes: Routes) -> Routes {
    let routes = routes
        .at("/dev/apps/{app}/builder", get(read_builder))
        .at("/dev/apps/{app}/builder/save", post(save_builder))
        .at("/dev/apps/{app}/builder/cancel", post(cancel_builder))
        .at("/dev/apps/{app}/deploy/defaults", get(no_deployment));
    let places = ["agent_engine", "cloud_run", "gke"];
    places
        .iter()
        .fold(routes, |routes, place| routes.at(&format!("/dev/apps/{{app}}/deploy/{place}"), post(unsupported)))
}

async fn list(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!([]))
}

async fn eval_sets(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!({ "evalSetIds": [] }))
}

async fn eval_results(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!({ "evalResultIds": [] }))
}

async fn metrics(api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!({ "metricsInfo": [] }))
}

async fn no_test(State(api): State<Arc<Api>>, NamePath { app, name }: NamePath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    check_test(&name)?;
    Err(no_file())
}

/// Replies for a test that has the same name as a route.
async fn no_such_test(State(api): State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    Err(no_file())
}

async fn delete_test(_: Local, api: State<Arc<Api>>, path: NamePath) -> Result<Response, ApiError> {
    no_test(api, path).await
}

async fn put_test(
    _: Local,
    State(api): State<Arc<Api>>,
    NamePath { app, name }: NamePath,
    request: Request,
) -> Result<Response, ApiError> {
    CheckOnlyBody::Test.check(api.payload(request).await?)?;
    check(&api, &app)?;
    check_test(&name)?;
    Err(not_kept())
}

async fn put_such_test(
    _: Local,
    State(api): State<Arc<Api>>,
    AppPath(app): AppPath,
    request: Request,
) -> Result<Response, ApiError> {
    CheckOnlyBody::Test.check(api.payload(request).await?)?;
    check(&api, &app)?;
    Err(not_kept())
}

async fn delete_such_test(_: Local, api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    no_such_test(api, app).await
}

async fn run_tests(
    _: Local,
    State(api): State<Arc<Api>>,
    AppPath(app): AppPath,
    uri: Uri,
) -> Result<Response, ApiError> {
    check(&api, &app)?;
    query::text(&uri, "test_name").filter(|name| !name.is_empty()).map_or(Ok(()), |name| check_test(&name))?;
    Err(not_kept())
}

async fn unsupported(_: Local, State(api): State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    Err(not_kept())
}

async fn no_deployment(State(api): State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    Err(ApiError::not_found("This server deploys nothing."))
}

async fn no_item(State(api): State<Arc<Api>>, NamePath { app, name }: NamePath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    Err(ApiError::not_found(format!("`{name}` not found: this server keeps no evaluations.")))
}

async fn add_set(
    _: Local,
    State(api): State<Arc<Api>>,
    AppPath(app): AppPath,
    request: Request,
) -> Result<Response, ApiError> {
    CheckOnlyBody::EvalSet.check(api.payload(request).await?)?;
    check(&api, &app)?;
    Err(not_kept())
}

async fn add_session(_: Local, api: State<Arc<Api>>, path: NamePath, request: Request) -> Result<Response, ApiError> {
    CheckOnlyBody::Session.check(api.payload(request).await?)?;
    no_item(api, path).await
}

async fn put_case(_: Local, api: State<Arc<Api>>, path: NamePath, request: Request) -> Result<Response, ApiError> {
    CheckOnlyBody::EvalCase.check(api.payload(request).await?)?;
    no_item(api, path).await
}

async fn no_local_item(_: Local, api: State<Arc<Api>>, path: NamePath) -> Result<Response, ApiError> {
    no_item(api, path).await
}

async fn no_set(State(api): State<Arc<Api>>, NamePath { app, name }: NamePath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    Err(ApiError::bad_request(format!("Eval set `{name}` not found.")))
}

async fn evaluate(_: Local, api: State<Arc<Api>>, path: NamePath, request: Request) -> Result<Response, ApiError> {
    CheckOnlyBody::Evaluation.check(api.payload(request).await?)?;
    no_set(api, path).await
}

async fn read_builder(_: Local, State(api): State<Arc<Api>>, AppPath(app): AppPath) -> Result<Response, ApiError> {
    check(&api, &app)?;
    Ok(text_response(StatusCode::OK, "", "text/plain; charset=utf-8"))
}

/// Checks the documents but does not save them, because apps are programs and not documents.
async fn save_builder(_: Local, api: State<Arc<Api>>, app: AppPath, request: Request) -> Result<Response, ApiError> {
    upload::check(&api, request).await?;
    of(&api, &app, json!(false))
}

async fn cancel_builder(_: Local, api: State<Arc<Api>>, app: AppPath) -> Result<Response, ApiError> {
    of(&api, &app, json!(true))
}

fn of(api: &Api, AppPath(app): &AppPath, answer: Value) -> Result<Response, ApiError> {
    check(api, app)?;
    Ok(plain(&answer))
}

/// Checks the name of an app. google-adk checks whether a folder of this name exists.
// H95
fn check(api: &Api, app: &str) -> Result<(), ApiError> {
    if !is_valid(app) && !api.runners.contains_key(app) {
        let reason = "a name consists of identifiers that are joined by dots";
        return Err(ApiError::bad_request(format!("Invalid app name: '{app}': {reason}.")));
    }
    api.runner(app).map(drop)
}

/// Checks that the name of a test is a file name and not a path.
fn check_test(name: &str) -> Result<(), ApiError> {
    let is_file = !name.contains(['/', '\\', ':', '\0']) && !matches!(name, "" | "." | "..");
    is_file.then_some(()).ok_or_else(|| ApiError::bad_request(format!("Invalid test name: '{name}'.")))
}

fn no_file() -> ApiError {
    ApiError::not_found("Test file not found")
}

fn not_kept() -> ApiError {
    let detail = "This server keeps no tests and no evaluations, and deploys nothing.";
    ApiError::new(StatusCode::NOT_IMPLEMENTED, detail)
}
