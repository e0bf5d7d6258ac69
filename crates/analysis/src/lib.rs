//! Measured health. A metric is asked again and again; its values are judged by expressions; limits turn many judgements
//! into one verdict. All of it is pure: values, the time and the answers of providers are arguments. Only [`http`] sends
//! anything, and only [`environment`] looks at the process.

pub mod arguments;
pub mod attend;
mod bounds;
pub mod compose;
pub mod environment;
pub mod expression;
pub mod gauge;
pub mod http;
pub mod measurement;
pub mod providers;
pub mod redact;
pub mod rooms;
pub mod rules;
pub mod schedule;
pub mod suggest;
pub mod templates;
pub mod verdict;
