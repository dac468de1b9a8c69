//! [`Plan`]: an operation, ready to be called.

use std::collections::HashMap;

use http::Method;
use serde_json::{Value, json};

use super::parameters::{Param, Place, Reader};
use super::schema::{Schemas, Used};
use super::security::{Alternative, KeyPlace, SchemeKind, Schemes};
use super::servers::{Base, ServerOptions};
use super::value::Object;
use super::{Body, BodyArgs, Document};
use crate::call::PathTemplate;
use crate::fault::Faults;
use crate::names::Names;
use crate::{OpenApiFault, OpenApiFaultKind, OpenApiOperation};

/// The methods of OpenAPI, by their names in a document.
const METHODS: [(&str, Method); 8] = [
    ("get", Method::GET),
    ("put", Method::PUT),
    ("post", Method::POST),
    ("delete", Method::DELETE),
    ("options", Method::OPTIONS),
    ("head", Method::HEAD),
    ("patch", Method::PATCH),
    ("trace", Method::TRACE),
];

/// An operation as filters see it, and its place in the document.
#[derive(Debug)]
pub(crate) struct Sketch<'d> {
    pub(crate) view: OpenApiOperation,
    path: Object<'d>,
    pointer: String,
    /// The object of the operation, or the fault of the path item.
    operation: Result<Object<'d>, OpenApiFault>,
}

/// An operation, ready to be called.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) view: OpenApiOperation,
    pub(crate) base: Base,
    pub(crate) path: PathTemplate,
    pub(crate) params: Vec<Param>,
    pub(crate) body: Option<Body>,
    /// The alternatives of credentials. An empty alternative needs no credential.
    pub(crate) security: Vec<Alternative>,
    /// The JSON schema of the arguments. The tool moves it into its declaration.
    pub(crate) schema: Value,
}

/// The context for reading operations: document, schemas, security schemes and options.
pub(crate) struct Reading<'d> {
    document: &'d Document,
    schemas: Schemas<'d>,
    pub(crate) schemes: Schemes,
    pub(crate) servers: ServerOptions,
    pub(crate) keeps_case: bool,
    pub(crate) ignores_security: bool,
    /// The headers that the program sends, in lower case.
    pub(crate) headers: Vec<String>,
    /// The operations that have an id, by id.
    ids: HashMap<String, String>,
}

impl Sketch<'_> {
    /// Returns the operation's place in the document.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }
}

/// Returns the operations of a document in the order of its paths.
pub(crate) fn sketches<'d>(document: &'d Document, faults: &mut Faults) -> Vec<Sketch<'d>> {
    let Some(root) = Object::of(&document.root, "", faults) else { return Vec::new() };
    if root.get("paths").is_none() && !document.is_3_1 {
        faults.add("", OpenApiFaultKind::Missing("paths"));
    }
    let Some(paths) = root.object("paths", faults) else { return Vec::new() };
    let mut sketches = Vec::new();
    for (path, item) in paths.members.iter().filter(|(path, item)| !path.starts_with("x-") && !item.is_null()) {
        let own = item.as_object().map(|members| Object { members, pointer: paths.at(path) });
        let mut of_path = Faults::default();
        let referred = document.object(item, paths.at(path), &mut of_path);
        let fault = of_path.0.first().cloned();
        faults.0.extend(of_path.0);
        for (name, method) in METHODS {
            // A path item may have both a reference and operations of its own.
            let holders = [own.as_ref(), referred.as_ref()];
            let holder = holders.into_iter().flatten().find(|holder| holder.members.contains_key(name));
            sketches.extend(holder.map(|holder| Sketch::read(path, name, method, holder, fault.clone())));
        }
    }
    sketches
}

impl<'d> Sketch<'d> {
    /// Reads an operation. `fault` is the fault of its path, if there is one.
    fn read(path: &str, name: &str, method: Method, holder: &Object<'d>, fault: Option<OpenApiFault>) -> Self {
        let (value, pointer) = (&holder.members[name], holder.at(name));
        let nothing = pleach_core::Map::new();
        let described = Object { members: value.as_object().unwrap_or(&nothing), pointer: pointer.clone() };
        // Faults are dropped here. They are found again if the operation is chosen.
        let view = view(path, method, &described, &mut Faults::default());
        let operation = match (value, fault) {
            (_, Some(fault)) => Err(fault),
            (Value::Object(members), None) => Ok(Object { members, pointer: pointer.clone() }),
            (_, None) => {
                let kind = OpenApiFaultKind::Expected("an object");
                Err(OpenApiFault { pointer: pointer.clone(), operation: None, kind })
            }
        };
        Self { view, path: holder.clone(), pointer, operation }
    }
}

fn view(path: &str, method: Method, operation: &Object<'_>, faults: &mut Faults) -> OpenApiOperation {
    let tags = operation.items("tags", faults);
    let mut text = |name: &str| operation.text(name, faults).map(str::to_owned);
    OpenApiOperation {
        method,
        path: path.to_owned(),
        id: text("operationId").filter(|id| !id.is_empty()),
        summary: text("summary").unwrap_or_default(),
        description: text("description").unwrap_or_default(),
        tags: tags.into_iter().filter_map(|(tag, _)| tag.as_str().map(str::to_owned)).collect(),
        is_deprecated: operation.flag("deprecated", faults).unwrap_or(false),
    }
}

impl<'d> Reading<'d> {
    pub(crate) fn new(document: &'d Document, servers: ServerOptions) -> Self {
        Self {
            document,
            schemas: Schemas::new(document),
            schemes: Schemes::default(),
            servers,
            keeps_case: false,
            ignores_security: false,
            headers: Vec::new(),
            ids: HashMap::new(),
        }
    }

    /// Reads an operation.
    ///
    /// # Errors
    /// All faults of the operation and of the objects that it refers to.
    pub(crate) fn plan(&mut self, sketch: Sketch<'d>) -> Result<Plan, Vec<OpenApiFault>> {
        let mut faults = Faults::default();
        let plan = self.read(&sketch, &mut faults);
        match plan {
            Some(plan) if faults.0.is_empty() => Ok(plan),
            _ => Err(faults.of(&sketch.view.to_string())),
        }
    }

    fn read(&mut self, sketch: &Sketch<'d>, faults: &mut Faults) -> Option<Plan> {
        let Sketch { view, path, operation, .. } = sketch;
        let operation = match operation {
            Ok(operation) => operation,
            Err(fault) => {
                faults.0.push(fault.clone());
                return None;
            }
        };
        self.schemas.begin_operation();
        self::view(&view.path, view.method.clone(), operation, faults);
        self.check_id(view, operation, faults);
        let security = if self.ignores_security {
            Vec::new()
        } else {
            self.schemes.alternatives(self.document, operation, faults)
        };
        let base = self.servers.base(&[operation, path], self.document, faults);
        let template = faults.take(&path.pointer, PathTemplate::read(&view.path).map_err(OpenApiFaultKind::Path));
        let (mut names, mut used) = (Names::default(), Used::default());
        let mut reader = Reader {
            document: self.document,
            schemas: &mut self.schemas,
            used: &mut used,
            names: &mut names,
            keeps_case: self.keeps_case,
            faults,
        };
        let headers = &self.headers;
        let covered = |place: Place, name: &str| is_covered(&security, headers, place, name);
        let params = reader.parameters(path, operation, covered);
        let body = reader.body(operation);
        let definitions = self.schemas.definitions(used, faults);
        let template = template?;
        check_path(&template, &params, &path.pointer, faults);
        let schema = schema(&params, body.as_ref(), definitions);
        Some(Plan { view: view.clone(), base: base?, path: template, params, body, security, schema })
    }

    /// Forgets the id of an omitted operation, because another operation may have the same id.
    pub(crate) fn forget(&mut self, id: &str, operation: &str) {
        if self.ids.get(id).is_some_and(|known| known == operation) {
            self.ids.remove(id);
        }
    }

    fn check_id(&mut self, view: &OpenApiOperation, operation: &Object<'_>, faults: &mut Faults) {
        let Some(id) = view.id() else { return };
        match self.ids.get(id) {
            Some(other) => {
                let kind = OpenApiFaultKind::DuplicateOperationId { id: id.to_owned(), other: other.clone() };
                faults.add(&operation.at("operationId"), kind);
            }
            None => {
                self.ids.insert(id.to_owned(), view.to_string());
            }
        }
    }
}

/// Returns true if a credential or a header of the program is sent as this parameter, so that a model must not set it.
fn is_covered(security: &[Alternative], headers: &[String], place: Place, name: &str) -> bool {
    if place == Place::Header && headers.iter().any(|header| header.eq_ignore_ascii_case(name)) {
        return true;
    }
    security.iter().flat_map(Alternative::schemes).any(|scheme| match (&scheme.kind, place) {
        (SchemeKind::ApiKey { place: KeyPlace::Header, name: key }, Place::Header) => key.eq_ignore_ascii_case(name),
        (SchemeKind::ApiKey { place: KeyPlace::Query, name: key }, Place::Query)
        | (SchemeKind::ApiKey { place: KeyPlace::Cookie, name: key }, Place::Cookie) => key == name,
        _ => false,
    })
}

fn check_path(template: &PathTemplate, params: &[Param], pointer: &str, faults: &mut Faults) {
    let declared: Vec<&str> =
        params.iter().filter(|param| param.place == Place::Path).map(|param| param.name.as_str()).collect();
    for name in template.names().filter(|name| !declared.contains(name)) {
        faults.add(pointer, OpenApiFaultKind::UndeclaredPathParameter(name.to_owned()));
    }
    for name in declared.into_iter().filter(|declared| !template.names().any(|name| name == *declared)) {
        faults.add(pointer, OpenApiFaultKind::UnusedPathParameter(name.to_owned()));
    }
}

/// Returns the JSON schema of the arguments.
fn schema(params: &[Param], body: Option<&Body>, definitions: pleach_core::Map) -> Value {
    let of_params =
        params.iter().map(|param| (&param.arg, &param.schema, param.is_required && param.default.is_none()));
    let fields = match body.map(|body| &body.args) {
        Some(BodyArgs::Whole(field)) => std::slice::from_ref(field),
        Some(BodyArgs::Properties(fields)) => fields,
        None => &[],
    };
    let of_body = fields.iter().map(|field| (&field.arg, &field.schema, field.is_required && field.default.is_none()));
    let mut properties = pleach_core::Map::new();
    let mut required = Vec::new();
    for (arg, schema, is_required) in of_params.chain(of_body) {
        properties.insert(arg.clone(), schema.clone());
        if is_required {
            required.push(arg.as_str());
        }
    }
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    if !definitions.is_empty() {
        schema["$defs"] = definitions.into();
    }
    schema
}
