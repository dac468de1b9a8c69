//! [`CheckOnlyBody`]: the bodies of the development server that are checked like all others, but not stored.
// H115, H116

use serde_json::Value;

use super::Payload;
use super::check::{check, missing};
use super::shape::Kind::{Any, List, Model, Object, Text};
use super::shape::{Kind, Shape, optional, required};
use crate::error::ApiError;

/// A body that is checked but not stored.
#[derive(Clone, Copy)]
pub(crate) enum CheckOnlyBody {
    Test,
    EvalSet,
    EvalCase,
    /// A session to add to an evaluation set.
    Session,
    Evaluation,
}

static TEST: Shape = Shape::open(&[required("sessionData", Object)]);

static EVAL_SET: Shape = Shape::open(&[required("evalSet", Model(&SET))]);

/// These names have no camelCase spelling.
static SET: Shape = Shape::open(&[required("eval_set_id", Text), required("eval_cases", List(&Any))]);

static EVAL_CASE: Shape = Shape::open(&[required("evalId", Text)]);

static SESSION: Shape = Shape::open(&[required("evalId", Text), required("sessionId", Text), required("userId", Text)]);

static EVALUATION: Shape = Shape::open(&[optional("evalCaseIds", List(&Text)), required("evalMetrics", List(&Any))]);

impl CheckOnlyBody {
    /// Checks a body.
    ///
    /// # Errors
    /// 422 with all problems.
    pub(crate) fn check(self, payload: Payload) -> Result<(), ApiError> {
        let value = match payload {
            Payload::Absent => return Err(ApiError::Invalid(vec![missing()])),
            Payload::Json(value) => value,
            Payload::Other(text) => Value::String(text),
        };
        check(Kind::Model(self.shape()), value).map(drop).map_err(ApiError::Invalid)
    }

    fn shape(self) -> &'static Shape {
        match self {
            Self::Test => &TEST,
            Self::EvalSet => &EVAL_SET,
            Self::EvalCase => &EVAL_CASE,
            Self::Session => &SESSION,
            Self::Evaluation => &EVALUATION,
        }
    }
}
