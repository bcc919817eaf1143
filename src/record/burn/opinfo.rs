//! What is known of a tensor operation before it runs: name, shapes, element type, work and bytes, from Burn's own
//! description. Computed once for each distinct operation and shared after that.

use super::work::{self, Work};
use crate::record::shapes_text;
use burn_ir::{ModuleOperationIr, OperationIr, TensorIr};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::mem::discriminant;
use std::sync::Arc;

/// One distinct operation: kind, shapes and element types.
#[derive(Debug, Clone, PartialEq)]
pub struct OpInfo {
    /// Name in lower case, for example `conv2d_weight_backward`.
    pub name: Arc<str>,
    /// Shapes of the inputs, as text.
    pub shapes_in: Arc<str>,
    /// Shapes of the outputs, as text.
    pub shapes_out: Arc<str>,
    /// Element type of the first output, or of the first input if there is none.
    pub dtype: Arc<str>,
    /// Floating-point operations and bytes moved.
    pub work: Work,
}

/// Operations that were seen, by their key.
#[derive(Default)]
pub struct OpTable {
    ops: FxHashMap<u64, Arc<OpInfo>>,
}

impl OpTable {
    /// What is known of an operation.
    pub fn get(&mut self, op: &OperationIr) -> Arc<OpInfo> {
        Arc::clone(self.ops.entry(key(op)).or_insert_with(|| Arc::new(describe(op))))
    }
}

/// Identifies an operation by kind, options that matter, shapes and element types, but not by its tensors. Two distinct
/// operations share a key with a probability of 2^-64.
fn key(op: &OperationIr) -> u64 {
    let mut hasher = FxHasher::default();
    discriminant(op).hash(&mut hasher);
    match op {
        OperationIr::BaseFloat(op) | OperationIr::BaseInt(op) | OperationIr::BaseBool(op) => {
            discriminant(op).hash(&mut hasher);
        }
        OperationIr::NumericFloat(_, op) | OperationIr::NumericInt(_, op) => discriminant(op).hash(&mut hasher),
        OperationIr::Bool(op) => discriminant(op).hash(&mut hasher),
        OperationIr::Int(op) => discriminant(op).hash(&mut hasher),
        OperationIr::Float(_, op) => discriminant(op).hash(&mut hasher),
        OperationIr::Module(op) => {
            discriminant(op).hash(&mut hasher);
            pool_window(op).hash(&mut hasher);
        }
        OperationIr::Custom(op) => op.id.hash(&mut hasher),
        OperationIr::Distributed(op) => discriminant(op).hash(&mut hasher),
        OperationIr::Activation(op) => discriminant(op).hash(&mut hasher),
        OperationIr::Init(_) | OperationIr::Drop(_) => {}
    }
    for tensor in op.inputs() {
        hash_tensor(tensor, &mut hasher);
    }
    // Inputs and outputs must not run into each other.
    u8::MAX.hash(&mut hasher);
    for tensor in op.outputs() {
        hash_tensor(tensor, &mut hasher);
    }
    hasher.finish()
}

fn hash_tensor(tensor: &TensorIr, hasher: &mut FxHasher) {
    tensor.shape.as_slice().hash(hasher);
    discriminant(&tensor.dtype).hash(hasher);
}

fn describe(op: &OperationIr) -> OpInfo {
    let inputs: Vec<&TensorIr> = op.inputs().collect();
    let outputs: Vec<&TensorIr> = op.outputs().collect();
    let shapes = |tensors: &[&TensorIr]| shapes_text(tensors.iter().map(|t| t.shape.as_slice()));
    let name = name(op);
    let window = match op {
        OperationIr::Module(op) => pool_window(op),
        _ => None,
    };
    let dtype = outputs.first().or(inputs.first()).map(|t| format!("{:?}", t.dtype).to_lowercase());
    OpInfo {
        work: work::of(&name, &sizes(&inputs), &sizes(&outputs), window),
        name: name.into(),
        shapes_in: shapes(&inputs).into(),
        shapes_out: shapes(&outputs).into(),
        dtype: dtype.unwrap_or_default().into(),
    }
}

fn sizes<'a>(tensors: &[&'a TensorIr]) -> Vec<work::Size<'a>> {
    tensors.iter().map(|t| work::Size { shape: t.shape.as_slice(), element_bytes: t.dtype.size() as u64 }).collect()
}

/// Elements of a pooling window.
fn pool_window(op: &ModuleOperationIr) -> Option<u64> {
    use ModuleOperationIr as M;
    let area = |size: [usize; 2]| Some((size[0] as u64).saturating_mul(size[1] as u64));
    match op {
        M::AvgPool1d(op) => Some(op.kernel_size as u64),
        M::MaxPool1d(op) => Some(op.kernel_size as u64),
        M::MaxPool1dWithIndices(op) => Some(op.kernel_size as u64),
        M::AvgPool1dBackward(op) => Some(op.kernel_size as u64),
        M::AvgPool2d(op) => area(op.kernel_size),
        M::MaxPool2d(op) => area(op.kernel_size),
        M::MaxPool2dWithIndices(op) => area(op.kernel_size),
        M::AvgPool2dBackward(op) => area(op.kernel_size),
        _ => None,
    }
}

/// The operation's name, from the names of Burn's variants: `Module(Conv2d(..))` is `conv2d`.
fn name(op: &OperationIr) -> String {
    match op {
        OperationIr::Init(_) => return "init".to_owned(),
        OperationIr::Drop(_) => return "drop".to_owned(),
        OperationIr::Custom(op) => return op.id.clone(),
        _ => {}
    }
    // `Debug` is derived there, so the second name in its text is the inner variant: `NumericFloat(F32, Add(BinaryOpIr {`.
    let text = format!("{op:?}");
    let mut parts = text.splitn(3, '(');
    let outer = parts.next().unwrap_or_default();
    let inner = parts.next().and_then(|part| part.rsplit([' ', ',']).next()).unwrap_or(outer);
    snake_case(inner)
}

/// `MaxPool2dWithIndices` as `max_pool2d_with_indices`.
fn snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 4);
    for (index, letter) in name.chars().enumerate() {
        if letter.is_uppercase() && index > 0 {
            out.push('_');
        }
        out.extend(letter.to_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;
    use burn_ir::{BaseOperationIr, BinaryOpIr, MatmulOpIr, NumericOperationIr, TensorId, TensorStatus};

    fn tensor(id: u64, shape: &[usize]) -> TensorIr {
        TensorIr {
            id: TensorId::new(id),
            shape: shape.to_vec().into(),
            status: TensorStatus::ReadOnly,
            // Burn's type for it is in none of the crates that this feature depends on; its text form is.
            dtype: serde_json::from_str("\"F32\"").unwrap(),
        }
    }

    fn add(id: u64, shape: &[usize]) -> OperationIr {
        let op = BinaryOpIr { lhs: tensor(id, shape), rhs: tensor(id + 1, shape), out: tensor(id + 2, shape) };
        OperationIr::NumericFloat(op.out.dtype, NumericOperationIr::Add(op))
    }

    #[test]
    fn operations_are_named_and_measured() {
        let mut table = OpTable::default();
        let info = table.get(&add(1, &[4, 8]));
        assert_eq!((&*info.name, &*info.shapes_in, &*info.shapes_out), ("add", "[4, 8] [4, 8]", "[4, 8]"));
        assert_eq!((&*info.dtype, info.work.flops, info.work.bytes), ("f32", Some(32), Some(3 * 32 * 4)));
        let matmul = MatmulOpIr { lhs: tensor(1, &[2, 3]), rhs: tensor(2, &[3, 5]), out: tensor(3, &[2, 5]) };
        let info = table.get(&OperationIr::Float(matmul.out.dtype, burn_ir::FloatOperationIr::Matmul(matmul)));
        assert_eq!((&*info.name, info.work.flops), ("matmul", Some(60)));
    }

    #[test]
    fn tensors_do_not_distinguish_operations_but_shapes_and_kinds_do() {
        let mut table = OpTable::default();
        let first = table.get(&add(1, &[4, 8]));
        assert!(Arc::ptr_eq(&first, &table.get(&add(77, &[4, 8]))));
        let turned = table.get(&add(1, &[8, 4]));
        let not_equal = BinaryOpIr { lhs: tensor(1, &[4, 8]), rhs: tensor(2, &[4, 8]), out: tensor(3, &[4, 8]) };
        let other = table.get(&OperationIr::BaseFloat(BaseOperationIr::NotEqual(not_equal)));
        assert_eq!((&*turned.name, &*turned.shapes_out), ("add", "[8, 4]"));
        assert_eq!((&*other.name, &*other.shapes_out), ("not_equal", "[4, 8]"));
    }

    #[test]
    fn names_follow_burns_variants() {
        assert_eq!(snake_case("MaxPool2dWithIndicesBackward"), "max_pool2d_with_indices_backward");
        assert_eq!(snake_case("Conv2d"), "conv2d");
    }
}
