//! Tools that agents bring themselves.

mod answer;

pub(crate) use answer::AnswerTool;
