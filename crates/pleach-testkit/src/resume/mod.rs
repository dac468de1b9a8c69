//! [`ResumeProperty`]: a run that is cut off anywhere and then continued ends like an uninterrupted run.

mod case;
mod crash;
mod failure;
mod outcome;
mod property;
mod settings;
mod talk;

pub use crash::{CrashPoint, CrashTime};
pub use failure::{Difference, ResumeFailure, ResumeFault};
pub use property::{ResumeProperty, ResumeReport, resume_property};
