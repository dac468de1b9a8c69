//! A run that is cut off anywhere and continued ends as the run that was not: [`ResumeProperty`].

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
