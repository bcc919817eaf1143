//! What CubeCL does with a database: the rules of its cache, transactions, several connections, files of other kinds.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs)]

use futures_lite::future::block_on;
use std::path::Path;
use std::time::Duration;
use turso::transaction::TransactionBehavior;
use turso::{Builder, Connection, Database, Error};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS entries (namespace TEXT NOT NULL, key BLOB NOT NULL, \
                      value BLOB NOT NULL, origin INTEGER NOT NULL, PRIMARY KEY (namespace, key))";
const INSERT: &str = "INSERT INTO entries (namespace, key, value, origin) VALUES (?1, ?2, ?3, ?4) \
                      ON CONFLICT(namespace, key) DO UPDATE SET value = excluded.value, origin = excluded.origin \
                      WHERE entries.origin = 1 AND excluded.origin = 0";
const SELECT: &str = "SELECT value FROM entries WHERE namespace = ?1 AND key = ?2";

fn open(path: &Path) -> Result<Database, Error> {
    block_on(Builder::new_local(path.to_str().unwrap()).experimental_multiprocess_wal(true).build())
}

fn ready(path: &Path) -> Connection {
    let connection = open(path).unwrap().connect().unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    block_on(connection.pragma_query("synchronous = NORMAL", |_| Ok(()))).unwrap();
    block_on(connection.execute(CREATE, ())).unwrap();
    connection
}

fn insert(connection: &Connection, key: &[u8], value: &[u8], origin: i64) -> u64 {
    block_on(connection.execute(INSERT, ("ns", key.to_vec(), value.to_vec(), origin))).unwrap()
}

fn get(connection: &Connection, key: &[u8]) -> Option<Vec<u8>> {
    let mut rows = block_on(connection.query(SELECT, ("ns", key.to_vec()))).unwrap();
    block_on(rows.next()).unwrap().map(|row| row.get(0).unwrap())
}

#[test]
fn a_value_of_our_own_stays_and_an_imported_one_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let connection = ready(&folder.path().join("cache.db"));
    assert_eq!(insert(&connection, b"k", b"imported", 1), 1);
    assert_eq!(insert(&connection, b"k", b"own", 0), 1);
    assert_eq!(insert(&connection, b"k", b"other", 0), 0, "the count of changed rows says that nothing was stored");
    assert_eq!(get(&connection, b"k").unwrap(), b"own");
    assert_eq!(get(&connection, b"nothing"), None);
}

#[test]
fn it_is_there_for_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a folder").join("cache.db");
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    insert(&ready(&path), b"k", b"v", 0);
    assert_eq!(get(&ready(&path), b"k").unwrap(), b"v");
    let busy = block_on(ready(&path).pragma_query("wal_checkpoint(TRUNCATE)", |row| {
        assert_eq!(row.get::<i64>(0)?, 0);
        Ok(())
    }));
    busy.unwrap();
}

#[test]
fn a_transaction_is_whole_or_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut connection = ready(&folder.path().join("cache.db"));
    let transaction = block_on(connection.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap();
    insert(&transaction, b"a", b"1", 0);
    drop(transaction);
    assert_eq!(get(&connection, b"a"), None);
    let transaction = block_on(connection.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap();
    insert(&transaction, b"a", b"1", 0);
    block_on(transaction.commit()).unwrap();
    assert_eq!(get(&connection, b"a").unwrap(), b"1");
}

#[test]
fn a_lock_that_another_holds_is_told_as_busy() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.db");
    let (mut holder, mut waiter) = (ready(&path), ready(&path));
    let held = block_on(holder.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap();
    waiter.busy_timeout(Duration::from_millis(10)).unwrap();
    let refused = block_on(waiter.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap_err();
    assert!(matches!(refused, Error::Busy(_)), "{refused:?}");
    drop(held);
    block_on(waiter.transaction_with_behavior(TransactionBehavior::Immediate)).unwrap();
}

#[test]
fn only_reading_makes_no_file_and_writes_none() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache.db");
    let missing = block_on(Builder::new_local(path.to_str().unwrap()).read_only(true).build());
    assert!(missing.is_err() && !path.exists());
    insert(&ready(&path), b"k", b"v", 0);
    let database = block_on(Builder::new_local(path.to_str().unwrap()).read_only(true).build()).unwrap();
    let connection = database.connect().unwrap();
    assert_eq!(get(&connection, b"k").unwrap(), b"v");
    let refused = block_on(connection.execute("DELETE FROM entries", ())).unwrap_err();
    assert!(matches!(refused, Error::Readonly(_)), "{refused:?}");
}

#[test]
fn what_is_no_database_or_no_cache_is_an_error_that_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("notes.txt");
    std::fs::write(&text, "not a database, but longer than the hundred bytes that a header has: ".repeat(20)).unwrap();
    assert!(matches!(open(&text).unwrap_err(), Error::NotAdb(_)));
    let connection = open(&folder.path().join("empty.db")).unwrap().connect().unwrap();
    let refused = block_on(connection.query("SELECT v FROM meta WHERE k = ?1", ("x",))).unwrap_err();
    assert!(refused.to_string().contains("no such table"), "{refused}");
    let mut rows = block_on(connection.query("SELECT 'text', 7", ())).unwrap();
    let row = block_on(rows.next()).unwrap().unwrap();
    assert!(matches!(row.get::<Vec<u8>>(1), Err(Error::ConversionFailure(_))));
    assert!(matches!(row.get::<String>(5), Err(Error::ConversionFailure(_))));
}
