//! Databases and connections to them.

use crate::rows::{IntoParams, Row, Rows};
use crate::transaction::{Transaction, TransactionBehavior};
use crate::{Error, Result};
use rusqlite::OpenFlags;
use std::path::PathBuf;
use std::time::Duration;

/// Says how a database is to be opened.
#[derive(Debug, Clone)]
pub struct Builder {
    path: PathBuf,
    read_only: bool,
}

impl Builder {
    /// A database file, which is made if it is not there.
    #[must_use]
    pub fn new_local(path: &str) -> Self {
        Self { path: PathBuf::from(path), read_only: false }
    }

    /// Only read, and never make it.
    #[must_use]
    pub fn read_only(mut self, read_only: bool) -> Self {
        self.read_only = read_only;
        self
    }

    /// SQLite's write-ahead log is always one for several processes.
    #[must_use]
    pub fn experimental_multiprocess_wal(self, _: bool) -> Self {
        self
    }

    /// SQLite can always compact.
    #[must_use]
    pub fn experimental_vacuum(self, _: bool) -> Self {
        self
    }

    /// Opens it.
    ///
    /// # Errors
    /// If the file cannot be opened or made, or is no database.
    pub async fn build(self) -> Result<Database> {
        let database = Database { path: self.path, read_only: self.read_only };
        let connection = database.connect()?;
        if !database.read_only {
            connection.wait(Duration::from_secs(5))?;
            // Answers with the mode; where another process is just changing it, that one makes it so.
            connection.inner.query_row("PRAGMA journal_mode = WAL", (), |_| Ok(()))?;
        }
        // A file that is no database fails with the first page that is read.
        connection.inner.query_row("PRAGMA schema_version", (), |_| Ok(()))?;
        Ok(database)
    }
}

/// A database that could be opened.
#[derive(Debug, Clone)]
pub struct Database {
    path: PathBuf,
    read_only: bool,
}

impl Database {
    /// A connection of its own.
    ///
    /// # Errors
    /// If the file cannot be opened any more.
    pub fn connect(&self) -> Result<Connection> {
        let access = if self.read_only {
            OpenFlags::SQLITE_OPEN_READ_ONLY
        } else {
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE
        };
        let inner = rusqlite::Connection::open_with_flags(&self.path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        Ok(Connection { inner })
    }
}

/// A connection. One thread at a time uses it.
#[derive(Debug)]
pub struct Connection {
    inner: rusqlite::Connection,
}

impl Connection {
    /// Runs a statement that gives rows.
    ///
    /// # Errors
    /// If SQLite refuses it.
    pub async fn query(&self, sql: impl AsRef<str>, params: impl IntoParams) -> Result<Rows> {
        let mut statement = self.inner.prepare_cached(sql.as_ref())?;
        let columns = statement.column_count();
        let params = rusqlite::params_from_iter(params.into_params());
        let rows = statement.query_map(params, |row| Row::read(row, columns))?;
        Ok(Rows { rows: rows.collect::<rusqlite::Result<_>>()? })
    }

    /// Runs a statement that gives no rows; the result is the number of rows that it changed.
    ///
    /// # Errors
    /// If SQLite refuses it.
    pub async fn execute(&self, sql: impl AsRef<str>, params: impl IntoParams) -> Result<u64> {
        let mut statement = self.inner.prepare_cached(sql.as_ref())?;
        Ok(statement.execute(rusqlite::params_from_iter(params.into_params()))? as u64)
    }

    /// Runs a pragma and hands its rows to `each`.
    ///
    /// # Errors
    /// If SQLite refuses it, or what `each` says.
    pub async fn pragma_query(&self, name: &str, mut each: impl FnMut(&Row) -> Result<()>) -> Result<()> {
        let mut rows = self.query(format!("PRAGMA {name}"), ()).await?;
        while let Some(row) = rows.next().await? {
            each(&row)?;
        }
        Ok(())
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// If the lock that it needs is held by others for longer than the time to wait.
    pub async fn transaction_with_behavior(&mut self, behavior: TransactionBehavior) -> Result<Transaction<'_>> {
        self.run(behavior.begin())?;
        Ok(Transaction::begun(self))
    }

    /// How long a statement waits for a lock that others hold.
    ///
    /// # Errors
    /// Never, as far as SQLite's manual goes.
    pub fn busy_timeout(&self, wait: Duration) -> Result<()> {
        self.wait(wait)
    }

    fn wait(&self, wait: Duration) -> Result<()> {
        self.inner.busy_timeout(wait).map_err(Error::from)
    }

    pub(crate) fn run(&self, sql: &str) -> Result<()> {
        self.inner.execute_batch(sql).map_err(Error::from)
    }
}
