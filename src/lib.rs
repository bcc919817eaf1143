//! Burnscope trains neural networks with Burn, records where the time goes, and proves what each optimization gained.
//!
//! The rooms, from the bottom up; a room uses only those above it in this list (ARCHITECTURE.md has the table, and a
//! test holds every `use crate::` against it).

pub mod analysis;
#[cfg(feature = "app")]
pub mod app;
pub mod cli;
pub mod data;
pub mod format;
#[cfg(feature = "train")]
pub mod kernels;
pub mod lab;
pub mod model;
#[cfg(feature = "train")]
pub mod nn;
#[cfg(feature = "app")]
pub mod panels;
pub mod record;
pub mod report;
pub mod session;
pub mod stats;
pub mod timeline;
pub mod trace;
#[cfg(feature = "train")]
pub mod train;
#[cfg(feature = "app")]
pub mod ui;
