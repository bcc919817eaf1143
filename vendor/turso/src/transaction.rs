//! Transactions.

use crate::{Connection, Result};
use std::ops::Deref;

/// When a transaction takes the writer's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransactionBehavior {
    /// With its first write.
    Deferred,
    /// At once.
    Immediate,
}

impl TransactionBehavior {
    pub(crate) fn begin(self) -> &'static str {
        match self {
            Self::Deferred => "BEGIN DEFERRED",
            Self::Immediate => "BEGIN IMMEDIATE",
        }
    }
}

/// A transaction; dropped without [`Transaction::commit`], nothing of it stays.
#[derive(Debug)]
pub struct Transaction<'a> {
    connection: &'a Connection,
    open: bool,
}

impl<'a> Transaction<'a> {
    pub(crate) fn begun(connection: &'a Connection) -> Self {
        Self { connection, open: true }
    }

    /// Makes it last.
    ///
    /// # Errors
    /// If SQLite cannot, as on a full disk; then nothing of it stays.
    pub async fn commit(mut self) -> Result<()> {
        self.connection.run("COMMIT")?;
        self.open = false;
        Ok(())
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.connection
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if self.open {
            // A rollback that fails leaves the transaction to the end of the connection, which undoes it too.
            self.connection.run("ROLLBACK").ok();
        }
    }
}
