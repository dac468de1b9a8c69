//! The names that agents may have.
// L2

use pleach_context::NodeSpec;
use pleach_workflow::Fault;

/// Returns what is wrong with the name of an agent.
pub(crate) fn name_faults(spec: &NodeSpec) -> Vec<Fault> {
    let invalid = spec.faults.iter().map(|fault| Fault::config(fault.rule, &*fault.message));
    let message = "an agent cannot be named `user`: events of that author are the user's";
    let reserved = (spec.name == "user").then(|| Fault::value("reserved_name", message));
    invalid.chain(reserved).collect()
}
