//! The one integration test binary: each file links Burn and egui only once this way.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cli;
mod foreign;
mod fuzz;
mod layers;
mod record;
mod run_formats;
mod train;
#[cfg(feature = "app")]
mod ui;
