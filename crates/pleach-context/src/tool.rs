//! Shared tools: an `Arc` of a [`Tool`] is a tool; and what nodes need of their app.

use std::sync::Arc;

use pleach_core::{BoxFuture, FunctionDeclaration, Map};
use pleach_model::LlmRequest;

use crate::{ConfirmationRequest, Need, NeededType, NodeError, NodeFault, Tool, ToolContext, ToolResult};

impl<T: Tool + ?Sized> Tool for Arc<T> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn description(&self) -> &str {
        (**self).description()
    }

    fn declaration(&self) -> Option<&Arc<FunctionDeclaration>> {
        (**self).declaration()
    }

    fn is_long_running(&self) -> bool {
        (**self).is_long_running()
    }

    fn check_require_confirmation<'a>(
        &'a self,
        args: &'a Map,
        ctx: &'a ToolContext,
    ) -> BoxFuture<'a, Result<bool, NodeError>> {
        (**self).check_require_confirmation(args, ctx)
    }

    fn confirmation(&self, args: &Map, ctx: &ToolContext) -> Option<ConfirmationRequest> {
        (**self).confirmation(args, ctx)
    }

    fn run<'a>(&'a self, args: &'a Map, ctx: &'a ToolContext) -> BoxFuture<'a, Result<ToolResult, NodeError>> {
        (**self).run(args, ctx)
    }

    fn shows_result(&self) -> bool {
        (**self).shows_result()
    }

    fn process_request<'a>(
        &'a self,
        ctx: &'a ToolContext,
        request: &'a mut LlmRequest,
    ) -> BoxFuture<'a, Result<(), NodeError>> {
        (**self).process_request(ctx, request)
    }

    fn needs(&self, needs: &mut Vec<Need>) {
        (**self).needs(needs);
    }

    fn faults(&self, faults: &mut Vec<NodeFault>) {
        (**self).faults(faults);
    }
}

impl Need {
    /// The need for a `T`.
    #[must_use]
    pub fn of<T: 'static>() -> Self {
        Self::Value(NeededType::of::<T>())
    }
}
