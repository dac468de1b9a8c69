//! [`RenamedTool`]: a tool of a toolset whose names get a prefix.
// L57

use std::sync::Arc;

use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_model::{LlmRequest, RequestTool};

use crate::{ConfirmationRequest, Need, NodeError, NodeFault, Tool, ToolContext, ToolResult};

/// A tool under another name.
pub(crate) struct RenamedTool {
    tool: Arc<dyn Tool>,
    name: String,
    declaration: Option<Arc<FunctionDeclaration>>,
}

impl RenamedTool {
    pub(crate) fn new(tool: Arc<dyn Tool>, prefix: &str) -> Self {
        let name = format!("{prefix}_{}", tool.name());
        let declaration = tool.declaration().map(|declared| {
            let mut declared = Arc::clone(declared);
            Arc::make_mut(&mut declared).name = Some(name.clone());
            declared
        });
        Self { tool, name, declaration }
    }
}

impl Tool for RenamedTool {
    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        self.tool.description()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        self.declaration.as_ref()
    }

    fn is_long_running(&self) -> bool {
        self.tool.is_long_running()
    }

    fn check_require_confirmation<'a>(
        &'a self,
        args: &'a Map,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        self.tool.check_require_confirmation(args, ctx)
    }

    fn confirmation(&self, args: &Map, ctx: &ToolContext) -> Option<ConfirmationRequest> {
        self.tool.confirmation(args, ctx)
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        self.tool.run(args, ctx)
    }

    fn shows_result(&self) -> bool {
        self.tool.shows_result()
    }

    fn process_request<'a>(
        &'a self,
        ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        Box::pin(async move {
            let declared_before = request.declarations().count();
            self.tool.process_request(ctx, request).await?;
            let added = declarations(request).skip(declared_before);
            let own = added.filter(|declared| declared.name.as_deref() == Some(self.tool.name()));
            own.for_each(|declared| Arc::make_mut(declared).name = Some(self.name.clone()));
            Ok(())
        })
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        self.tool.needs(needs);
    }

    fn faults(&self, faults: &mut Vec<NodeFault>) {
        self.tool.faults(faults);
    }
}

fn declarations(request: &mut LlmRequest) -> impl Iterator<Item = &mut Arc<FunctionDeclaration>> {
    request.config.tools.iter_mut().flatten().flat_map(|tool| match tool {
        RequestTool::Functions(functions) => functions.as_mut_slice(),
        RequestTool::Provider(_) => &mut [],
    })
}
