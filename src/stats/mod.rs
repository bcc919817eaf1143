//! Pure statistics: warm-up, robust summaries, intervals, exact tests, block A/B, power, histograms.
//!
//! This room knows nothing of runs, traces or windows: numbers go in, numbers and sentences come out. Everything random
//! takes a seed, so the same data always gives the same verdict.

pub mod ab;
pub mod autocorrelation;
pub mod bootstrap;
pub mod distribution;
pub mod drift;
pub mod histogram;
pub mod holm;
pub mod power;
pub mod ranksum;
pub mod signflip;
pub mod summary;
#[cfg(test)]
mod testing;
pub mod unpaired;
pub mod warmup;

pub use ab::{AbError, AbOptions, AbResult, BlockPair, Verdict, judge};
pub use summary::{OutlierClass, Summary, median};
pub use unpaired::judge_unpaired;
pub use warmup::{WarmUpEnd, end_of_warm_up};
