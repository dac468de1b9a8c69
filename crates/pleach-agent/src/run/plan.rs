//! The changes that an agent's planner makes to requests and responses.
// L70

use pleach_context::engine::LaneSetup;
use pleach_context::{NodeError, ReadonlyContext};
use pleach_core::{Event, Part};
use pleach_model::{LlmRequest, LlmResponse};

use super::AgentRun;

impl AgentRun<'_> {
    /// Adds the planner's thinking config or instruction to a request.
    pub(super) fn plan(&self, request: &mut LlmRequest) -> Result<(), NodeError> {
        let Some(planner) = &self.agent.planner else { return Ok(()) };
        if let Some(config) = planner.thinking_config() {
            request.config.thinking_config = Some(config.clone());
            return Ok(());
        }
        let ctx = ReadonlyContext::new(self.handle.context().clone());
        let instruction = planner.build_planning_instruction(&ctx, request)?;
        request.append_instructions(instruction.filter(|text| !text.is_empty()));
        // Earlier plans are marked as thoughts. The mark is removed so that the model reads them.
        for content in request.contents.iter_mut().filter(|content| content.parts().iter().any(Part::is_thought)) {
            content.to_mut().parts.iter_mut().flatten().for_each(|part| part.thought = None);
        }
        Ok(())
    }

    /// Lets the planner change a response.
    pub(super) async fn process_plan(&self, response: &mut LlmResponse) -> Result<(), NodeError> {
        let Some(planner) = self.agent.planner.as_ref().filter(|planner| planner.thinking_config().is_none()) else {
            return Ok(());
        };
        let parts = response.content.as_mut().and_then(|content| content.parts.as_mut());
        let Some(parts) = parts.filter(|parts| !parts.is_empty()) else { return Ok(()) };
        let lane = self.handle.lane(LaneSetup::default());
        let planned = planner.process_planning_response(&lane, parts)?;
        if let Some(planned) = planned.filter(|planned| !planned.is_empty()) {
            *parts = planned;
        }
        if lane.has_pending_changes() {
            lane.emit(Event::new()).await?;
        }
        self.handle.merge_lane(&lane);
        Ok(())
    }
}
