//! What people read and apply: the documents, run line by line, and the installation. They have a control plane of
//! their own, because they install Windlass as a person would, over and over.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "this is test code, and some of it prints figures"
)]

mod demo;
mod docs;
mod install;
