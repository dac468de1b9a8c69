//! Builds a toolset: reads the document, collects all its faults, and creates a tool for each operation.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use pleach_http::Headers;
use reqwest::Url;
use secrecy::ExposeSecret as _;
use serde_json::Value;

use crate::auth::{Access, Tokens, fits, secret_url};
use crate::document::{Alternative, Base, Document, Plan, Reading, SchemeKind, ServerOptions, Sketch, sketches};
use crate::fault::Faults;
use crate::http::{Client, set_header};
use crate::names::{Names, fault_of_prefix, snake_case};
use crate::tool::Shared;
use crate::{OpenApiFault, OpenApiFaultKind, OpenApiSetupError, OpenApiToolset, OpenApiToolsetBuilder, RestApiTool};

impl OpenApiToolsetBuilder {
    /// Builds the toolset. Nothing is sent.
    ///
    /// # Errors
    /// The document cannot be read or has faults, an option cannot be used, or no operation is left. The error names
    /// all faults of the document.
    pub fn build(mut self) -> Result<OpenApiToolset, OpenApiSetupError> {
        let document = std::mem::replace(&mut self.document, Value::Null.into());
        let root = document.read()?;
        let name = self.name.clone().unwrap_or_else(|| title(&root));
        let headers = self.check(&name)?;
        let servers = self.servers(&name)?;
        self.read_token_urls(&name)?;
        let mut faults = Faults::default();
        let document = Document::new(root, &mut faults);
        let document = document.ok_or_else(|| document_error(&name, std::mem::take(&mut faults).0))?;
        let sketches = self.chosen(&name, sketches(&document, &mut faults))?;
        let mut faults = faults.0;
        let mut reading = Reading::new(&document, servers);
        reading.keeps_case = self.keeps_case;
        reading.ignores_security = self.ignores_security;
        let sent: Vec<String> = headers.names().map(str::to_owned).collect();
        reading.headers = sent.clone();
        reading.headers.extend(self.headers_of_credentials(&name, &sent)?);
        let sends_headers = !headers.is_empty() || self.header_provider.is_some();
        let plans = self.plans(&mut reading, sketches, &sent, sends_headers, &mut faults);
        if !faults.is_empty() && (!self.leaves_out_faulty || plans.is_empty()) {
            return Err(document_error(&name, faults));
        }
        for fault in &faults {
            tracing::warn!(toolset = name, %fault, "an operation of the OpenAPI document is left out");
        }
        self.check_used(&name, &reading)?;
        self.check_origins(&name, &plans)?;
        self.finish(name, plans, faults, headers)
    }

    /// Checks the prefix and the headers.
    fn check(&self, name: &str) -> Result<Headers, OpenApiSetupError> {
        if let Some((prefix, reason)) = self.prefix.as_ref().and_then(|prefix| Some((prefix, fault_of_prefix(prefix)?)))
        {
            return Err(OpenApiSetupError::Prefix { name: name.to_owned(), prefix: prefix.clone(), reason });
        }
        let mut headers = Headers::default();
        for (header, value) in &self.headers {
            set_header(&mut headers, header, value.expose_secret()).map_err(|reason| OpenApiSetupError::Header {
                name: name.to_owned(),
                header: header.clone(),
                reason,
            })?;
        }
        Ok(headers)
    }

    fn servers(&self, name: &str) -> Result<ServerOptions, OpenApiSetupError> {
        let read = |option: &'static str, text: &Option<String>| {
            let fault = |reason: String| OpenApiSetupError::Url { name: name.to_owned(), option, reason };
            let Some(text) = text else { return Ok(None) };
            let url = Url::parse(text.trim()).map_err(|error| fault(format!("cannot be read: {error}")))?;
            Base::new(url.clone()).map_err(fault)?;
            Ok(Some(url))
        };
        let variables: BTreeMap<String, String> = self.variables.iter().cloned().collect();
        let (base_url, document_url) = (read("base_url", &self.base_url)?, read("document_url", &self.document_url)?);
        Ok(ServerOptions { base_url, document_url, variables, ..ServerOptions::default() })
    }

    /// Applies the filter.
    fn chosen<'d>(&self, name: &str, mut sketches: Vec<Sketch<'d>>) -> Result<Vec<Sketch<'d>>, OpenApiSetupError> {
        let choice = |reason: String| OpenApiSetupError::Choice { name: name.to_owned(), reason };
        if let Some(only) = &self.only {
            let is = |sketch: &Sketch<'_>, chosen: &str| {
                sketch.view.id() == Some(chosen) || sketch.view.to_string() == chosen
            };
            if let Some(unknown) = only.iter().find(|chosen| !sketches.iter().any(|sketch| is(sketch, chosen))) {
                return Err(choice(format!("names `{unknown}`, which is not there")));
            }
            sketches.retain(|sketch| only.iter().any(|chosen| is(sketch, chosen)));
        }
        if let Some(filter) = &self.filter {
            sketches.retain(|sketch| filter(&sketch.view));
        }
        if sketches.is_empty() { Err(choice("leaves no operation".to_owned())) } else { Ok(sketches) }
    }

    fn plans<'d>(
        &self,
        reading: &mut Reading<'d>,
        sketches: Vec<Sketch<'d>>,
        sent: &[String],
        sends_headers: bool,
        faults: &mut Vec<OpenApiFault>,
    ) -> Vec<Plan> {
        let mut plans = Vec::new();
        let mut known: HashSet<(String, String)> =
            faults.iter().map(|fault| (fault.pointer.clone(), fault.kind.to_string())).collect();
        for sketch in sketches {
            let (operation, pointer) = (sketch.view.to_string(), sketch.pointer().to_owned());
            let (name, id) = (operation.clone(), sketch.view.id().map(str::to_owned));
            let checked = reading.plan(sketch).and_then(|mut plan| {
                self.check_plan(&mut plan, sent, sends_headers)
                    .map(|()| plan)
                    .map_err(|kind| vec![OpenApiFault { pointer, operation: Some(operation), kind }])
            });
            match checked {
                Ok(plan) => plans.push(plan),
                Err(of_operation) => {
                    // A shared fault is reported once, but each omitted operation is named.
                    let named = of_operation.first().filter(|_| self.leaves_out_faulty).cloned();
                    let is_new = |fault: &OpenApiFault| known.insert((fault.pointer.clone(), fault.kind.to_string()));
                    let mut new = of_operation.into_iter().filter(is_new).peekable();
                    faults.extend(named.filter(|_| new.peek().is_none()));
                    faults.extend(new);
                    if let Some(id) = id.filter(|_| self.leaves_out_faulty) {
                        reading.forget(&id, &name);
                    }
                }
            }
        }
        plans
    }

    /// Checks that the credentials of an operation are available and may be sent to its server.
    fn check_plan(&self, plan: &mut Plan, sent: &[String], sends_headers: bool) -> Result<(), OpenApiFaultKind> {
        self.access.keep_possible(&mut plan.security, &plan.base).map_err(OpenApiFaultKind::Security)?;
        let mut headers = plan.security.iter().flat_map(Alternative::schemes).filter_map(|scheme| scheme.header());
        if let Some(header) = headers.find(|header| sent.iter().any(|sent| sent.eq_ignore_ascii_case(header))) {
            let reason =
                format!("`.header(…)` sets `{header}`, which a credential sets as well: call `.ignore_security()`");
            return Err(OpenApiFaultKind::Security(reason));
        }
        let sends_secrets = sends_headers || plan.security.iter().any(|alternative| !alternative.0.is_empty());
        if let Some(host) = plan.base.endpoint().exposed_host(sends_secrets).filter(|_| !self.plain_http) {
            return Err(OpenApiFaultKind::PlainHttp { host: host.to_owned() });
        }
        Ok(())
    }

    /// Returns the names of the further headers of credentials. They must differ from the program's own headers.
    fn headers_of_credentials(&self, name: &str, sent: &[String]) -> Result<Vec<String>, OpenApiSetupError> {
        let credential = |reason: String| OpenApiSetupError::Credential { name: name.to_owned(), reason };
        let names = self.access.header_names().map_err(credential)?;
        match names.iter().find(|name| sent.contains(name)) {
            Some(twice) => Err(credential(format!("its header `{twice}` is also set by `.header(…)`"))),
            None => Ok(names),
        }
    }

    /// Checks that the general credential goes to one server.
    fn check_origins(&self, name: &str, plans: &[Plan]) -> Result<(), OpenApiSetupError> {
        let takes = |plan: &&Plan| {
            plan.security.iter().flat_map(Alternative::schemes).any(|scheme| self.access.general_for(scheme).is_some())
        };
        let mut urls = plans.iter().filter(takes).map(|plan| plan.base.url());
        let Some(first) = urls.next() else { return Ok(()) };
        match urls.find(|url| url.origin() != first.origin()) {
            Some(other) => Err(OpenApiSetupError::Credential {
                name: name.to_owned(),
                reason: format!(
                    "`.credential(…)` would be sent to `{}` and `{}`: use `.credential_for(…)`, `.only(…)` or `.base_url(…)`",
                    first.origin().ascii_serialization(),
                    other.origin().ascii_serialization()
                ),
            }),
            None => Ok(()),
        }
    }

    fn read_token_urls(&mut self, name: &str) -> Result<(), OpenApiSetupError> {
        for (scheme, text) in &self.token_urls {
            let url = secret_url(text).map_err(|reason| OpenApiSetupError::Url {
                name: name.to_owned(),
                option: "token_url",
                reason,
            })?;
            self.access.token_urls.insert(scheme.clone(), url);
        }
        Ok(())
    }

    /// Checks that each credential, token address and variable of the program has an effect.
    fn check_used(&self, name: &str, reading: &Reading<'_>) -> Result<(), OpenApiSetupError> {
        let credential = |reason: String| OpenApiSetupError::Credential { name: name.to_owned(), reason };
        let Access { general, named, token_urls } = &self.access;
        let is_oauth2 =
            |name: &String| reading.schemes.iter().any(|found| found.name == *name && found.kind == SchemeKind::OAuth2);
        if let Some(scheme) = token_urls.keys().find(|name| !is_oauth2(name)) {
            return Err(credential(format!("no chosen operation has the OAuth2 scheme `{scheme}` of `.token_url(…)`")));
        }
        for (scheme, given) in named {
            let found = reading.schemes.iter().find(|found| found.name == *scheme);
            let Some(found) = found else {
                return Err(credential(format!("no chosen operation has the security scheme `{scheme}`")));
            };
            if !fits(&found.kind, given) {
                return Err(credential(format!("it is of another kind than the security scheme `{scheme}`")));
            }
        }
        if let Some(general) = general
            && !reading.schemes.iter().any(|scheme| fits(&scheme.kind, general))
        {
            return Err(credential(
                "it is of another kind than the security schemes of the chosen operations".to_owned(),
            ));
        }
        let unused = self.variables.iter().find(|(variable, _)| !reading.servers.used.contains(variable));
        match unused {
            Some((variable, _)) => Err(OpenApiSetupError::ServerVariable {
                name: name.to_owned(),
                variable: variable.clone(),
                reason: "is in no URL of a server that is used".to_owned(),
            }),
            None => Ok(()),
        }
    }

    fn finish(
        self,
        name: String,
        plans: Vec<Plan>,
        left_out: Vec<OpenApiFault>,
        headers: Headers,
    ) -> Result<OpenApiToolset, OpenApiSetupError> {
        let needs_encryption = plans.iter().any(|plan| plan.base.endpoint().is_https());
        let client = Client::new(self.limits, needs_encryption).map_err(|reason| OpenApiSetupError::Tls { reason })?;
        let shared = Arc::new(Shared {
            name: name.clone(),
            client,
            access: self.access,
            tokens: Tokens::default(),
            headers,
            header_provider: self.header_provider,
            confirm: self.confirm,
        });
        let mut names = Names::of_tools();
        let mut named = Vec::new();
        for plan in plans {
            let view = &plan.view;
            let tool = names.tool(self.prefix.as_deref(), view.id(), view.path(), view.method());
            named.push((tool, plan));
        }
        // The order is stable, because providers cache requests that begin like an earlier request.
        named.sort_by(|(one, _), (other, _)| one.cmp(other));
        let tools = named.into_iter().map(|(tool, plan)| RestApiTool::new(tool, plan, Arc::clone(&shared))).collect();
        Ok(OpenApiToolset::new(name, tools, left_out))
    }
}

fn document_error(name: &str, faults: Vec<OpenApiFault>) -> OpenApiSetupError {
    OpenApiSetupError::Document { name: name.to_owned(), faults }
}

/// Returns the name of a document: its title in snake case.
fn title(root: &Value) -> String {
    let title = root.pointer("/info/title").and_then(Value::as_str).map(snake_case).unwrap_or_default();
    if title.is_empty() { "openapi".to_owned() } else { title.chars().take(60).collect() }
}
