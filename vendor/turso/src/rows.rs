//! Parameters and rows.

use crate::{Error, Result};
use rusqlite::types::{FromSql, Value, ValueRef};
use std::collections::VecDeque;

/// What a statement's `?1`, `?2`, … stand for.
pub trait IntoParams {
    /// The values in order.
    fn into_params(self) -> Vec<Value>;
}

impl IntoParams for () {
    fn into_params(self) -> Vec<Value> {
        Vec::new()
    }
}

macro_rules! tuple {
    ($($name:ident),+) => {
        impl<$($name: Into<Param>),+> IntoParams for ($($name,)+) {
            #[allow(non_snake_case)]
            fn into_params(self) -> Vec<Value> {
                let ($($name,)+) = self;
                vec![$($name.into().0),+]
            }
        }
    };
}
tuple!(A);
tuple!(A, B);
tuple!(A, B, C);
tuple!(A, B, C, D);

/// One parameter.
#[derive(Debug, Clone)]
pub struct Param(Value);

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self(Value::Text(text.to_owned()))
    }
}

impl From<String> for Param {
    fn from(text: String) -> Self {
        Self(Value::Text(text))
    }
}

impl From<Vec<u8>> for Param {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Value::Blob(bytes))
    }
}

impl From<i64> for Param {
    fn from(number: i64) -> Self {
        Self(Value::Integer(number))
    }
}

/// What a query found.
#[derive(Debug)]
pub struct Rows {
    pub(crate) rows: VecDeque<Row>,
}

impl Rows {
    /// The next row.
    ///
    /// # Errors
    /// Never: all rows are read already.
    pub async fn next(&mut self) -> Result<Option<Row>> {
        Ok(self.rows.pop_front())
    }
}

/// One row.
#[derive(Debug, Clone)]
pub struct Row {
    values: Vec<Value>,
}

impl Row {
    pub(crate) fn read(row: &rusqlite::Row<'_>, columns: usize) -> rusqlite::Result<Self> {
        Ok(Self { values: (0..columns).map(|at| row.get(at)).collect::<rusqlite::Result<_>>()? })
    }

    /// The value in a column, counted from 0.
    ///
    /// # Errors
    /// If there is no such column, or its value has another type.
    pub fn get<T: FromSql>(&self, column: usize) -> Result<T> {
        let value = self.values.get(column).ok_or_else(|| Error::ConversionFailure(format!("no column {column}")))?;
        T::column_result(ValueRef::from(value)).map_err(|e| Error::ConversionFailure(format!("column {column}: {e}")))
    }
}
