//! [`NodeTool`]: a node or a workflow that an agent calls.
// L199

use std::fmt;
use std::sync::Arc;

use pleach_context::engine::RunHandle;
use pleach_context::{
    InputReader, Need, Node, NodeError, NodeFault, NodeInput, NodeSpec, RunOptions, Schema, Tool, ToolContext,
    ToolResult,
};
use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use serde_json::{Value, json};

use crate::OutputWrapper;

/// A node as a tool: a function, a workflow, an agent. ADK: `NodeTool`
///
/// Every call is a run of the node below the agent's run. The run's events are stored, a question pauses the agent,
/// and a resume continues a run that was cut off. The result is the node's output.
///
/// The arguments come from the node's input schema, or from the type that a workflow has declared with
/// `.input::<T>()`. The members of an object are the arguments, and any other input is the argument `request`. If the
/// node's input cannot be read from a text and no schema is declared, building an agent or workflow with this tool
/// fails, because the model would be offered a text. Arguments that do not fit are reported to the model.
///
/// ```
/// use pleach_agent::{LlmAgent, NodeTool};
/// use pleach_context::Input;
/// use pleach_model::ScriptedModel;
/// use pleach_workflow::FunctionNode;
///
/// let shout = FunctionNode::new("shout", async |Input(text): Input<String>| text.to_uppercase());
/// let agent = LlmAgent::builder("agent").model(ScriptedModel::saying("Hello.")).tool(NodeTool::new(shout)).build()?;
/// # drop(agent);
/// # Ok::<_, pleach_workflow::BuildError>(())
/// ```
#[derive(Clone)]
pub struct NodeTool {
    node: Arc<dyn Node>,
    declaration: Arc<FunctionDeclaration>,
    wrapper: Arc<OutputWrapper>,
}

impl NodeTool {
    /// Makes a tool from a node. The tool has the node's name and description.
    pub fn new(node: impl Node) -> Self {
        let node: Arc<dyn Node> = Arc::new(node);
        let spec = node.spec();
        let schema = declared_schema(spec).map_or_else(|| json!({"type": "string"}), Schema::to_json);
        let wrapper = OutputWrapper::for_schema(&schema, "request");
        let description = match spec.description.as_str() {
            "" => format!("Runs {}.", spec.name),
            description => description.to_owned(),
        };
        let declaration =
            FunctionDeclaration::new(spec.name.as_str(), description).with_parameters(wrapper.parameters().clone());
        Self { node, declaration: Arc::new(declaration), wrapper: Arc::new(wrapper) }
    }

    async fn call(&self, args: &Map, ctx: &ToolContext) -> Result<Value, NodeError> {
        let input = match self.input(args) {
            Ok(input) => input,
            Err(misfit) => {
                let name = self.name();
                return Ok(
                    json!({"error": format!("Invoking `{name}()` failed due to argument validation errors:\n{misfit}\nYou could retry calling this tool with corrected argument types.")}),
                );
            }
        };
        let run = RunHandle::of(ctx.clone());
        let id = run.call_key();
        let options = RunOptions::default().run_id(id).use_sub_branch(true);
        match ctx.run_node(&*self.node, NodeInput::json(input), options).await {
            Ok(output) => Ok(output.to_value()),
            // For the agent, this is the failure of a tool and not of a child: a resume repeats a call that has no
            // response.
            Err(error) => match error.child_failure() {
                Some(failure) => {
                    run.forget_failure(failure);
                    Err(failure.error.clone())
                }
                None => Err(error),
            },
        }
    }

    /// Makes the input from the arguments, or describes why they do not fit.
    fn input(&self, args: &Map) -> Result<Value, String> {
        let Some(input) = self.wrapper.value(args.clone()) else {
            return Err("Missing required argument \"request\".".to_owned());
        };
        let Some(schema) = &self.node.spec().input_schema else {
            let given = NodeInput::json(input);
            let misfit = self.node.spec().reads.iter().find_map(|reader| reader.check(&given).err());
            return misfit.map_or_else(|| Ok(given.into_value()), |misfit| Err(misfit.message().to_owned()));
        };
        if let Value::Object(given) = &input
            && let Some(missing) =
                schema.fields().iter().find(|field| !field.optional && !given.contains_key(&field.name))
        {
            let (field, name) = (&missing.name, self.name());
            return Err(format!(
                "Missing value for parameter \"{field}\" of function \"{name}\". It was not found in node_input and has no default value."
            ));
        }
        schema.apply(&input).map_err(|error| error.to_string())
    }
}

impl Tool for NodeTool {
    fn name(&self) -> &str {
        &self.node.spec().name
    }

    fn description(&self) -> &str {
        self.declaration.description.as_deref().unwrap_or_default()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        Some(&self.declaration)
    }

    fn shows_result(&self) -> bool {
        true
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        Box::pin(async move { self.call(args, ctx).await.map(ToolResult::from) })
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.node.needs(needs);
    }

    fn faults(&self, faults: &mut Vec<NodeFault>) {
        faults.extend(unknown_shape(self.node.spec()));
    }
}

/// Returns the schema of the input that the node has declared.
fn declared_schema(spec: &NodeSpec) -> Option<&Schema> {
    spec.input_schema.as_ref().or(spec.reads_schema.as_ref())
}

/// Returns `true` if a type can be read from a text, because the model is offered a text. It may be any text, or the
/// text of a number or a truth value.
fn takes_text(reader: &InputReader) -> bool {
    ["text", "1", "true"].into_iter().any(|text| reader.check(&NodeInput::json(text)).is_ok())
}

/// Returns a fault if nothing declares the schema of the node's input. A type that can be read from a text needs no
/// schema.
fn unknown_shape(spec: &NodeSpec) -> Option<NodeFault> {
    if declared_schema(spec).is_some() {
        return None;
    }
    let reader: &InputReader = spec.reads.iter().find(|reader| !takes_text(reader))?;
    let (name, wanted) = (&spec.name, reader.type_name());
    let message = format!(
        "the tool '{name}' takes a {wanted}, but has no schema that tells this to the model: declare the type of a workflow with \
         `Workflow::builder(\"{name}\").input::<{wanted}>()`, and of another node with `.input_schema(Schema::of::<{wanted}>())`"
    );
    Some(NodeFault { rule: "tool_without_schema", message })
}

impl fmt::Debug for NodeTool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NodeTool").field("node", &self.node.spec().name).finish_non_exhaustive()
    }
}
