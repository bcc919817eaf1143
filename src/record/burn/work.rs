//! Floating-point operations and bytes of an operation, from its name and shapes alone. Knows no Burn type.
//!
//! Conventions: a multiplication with an addition counts two; any other arithmetic function of one element, also `exp` or
//! `tanh`, counts one; moving, casting and comparing count none. Bytes are what must be read and written once, without
//! caches; views move none. What the shapes do not tell stays unknown.

/// Shape and element size of a tensor.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Size<'a> {
    /// Length of each axis.
    pub shape: &'a [usize],
    /// Bytes of an element.
    pub element_bytes: u64,
}

/// Work of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Work {
    /// Floating-point operations; `None` = not known.
    pub flops: Option<u64>,
    /// Bytes read and written; `None` = not known.
    pub bytes: Option<u64>,
}

impl Size<'_> {
    /// Number of elements.
    pub fn elements(&self) -> u64 {
        product(self.shape)
    }

    /// Bytes of all elements.
    pub fn bytes(&self) -> u64 {
        self.elements().saturating_mul(self.element_bytes)
    }

    fn last(&self) -> Option<u64> {
        self.shape.last().map(|n| *n as u64)
    }
}

fn product(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |all, axis| all.saturating_mul(*axis as u64))
}

/// The work of the operation `name` with these inputs and outputs; `window`: elements of a pooling window.
pub fn of(name: &str, inputs: &[Size], outputs: &[Size], window: Option<u64>) -> Work {
    Work { flops: flops(name, inputs, outputs, window), bytes: bytes(name, inputs, outputs) }
}

fn flops(name: &str, inputs: &[Size], outputs: &[Size], window: Option<u64>) -> Option<u64> {
    let out = outputs.first().map_or(0, Size::elements);
    let input = inputs.first().map_or(0, Size::elements);
    let input_at = |index: usize| inputs.get(index).copied();
    match name {
        "conv1d" | "conv2d" | "conv3d" => {
            Some(mul_add(out, filter(input_at(1)?)?).saturating_add(bias(inputs.len(), out)))
        }
        "conv_transpose1d" | "conv_transpose2d" | "conv_transpose3d" => {
            Some(mul_add(input, filter(input_at(1)?)?).saturating_add(bias(inputs.len(), out)))
        }
        // Both backward convolutions do the forward pass's work again, once for each element of the output's gradient.
        "conv1d_x_backward"
        | "conv2d_x_backward"
        | "conv3d_x_backward"
        | "conv1d_weight_backward"
        | "conv2d_weight_backward"
        | "conv3d_weight_backward" => Some(mul_add(input_at(2)?.elements(), filter(input_at(1)?)?)),
        "conv1d_bias_backward" | "conv2d_bias_backward" | "conv3d_bias_backward" => Some(input_at(2)?.elements()),
        "matmul" => Some(mul_add(out, input_at(0)?.last()?)),
        "linear" => Some(mul_add(out, input_at(0)?.last()?).saturating_add(bias(inputs.len(), out))),
        "linear_x_backward" => Some(mul_add(out, input_at(1)?.last()?)),
        "linear_weight_backward" => Some(mul_add(input, input_at(1)?.last()?)),
        "linear_bias_backward" => Some(input),
        "avg_pool1d" | "avg_pool2d" => Some(out.saturating_mul(window?)),
        "avg_pool1d_backward" | "avg_pool2d_backward" => Some(input_at(1)?.elements().saturating_mul(window?)),
        // Each gradient is added to the place that its maximum came from.
        "max_pool1d_with_indices_backward" | "max_pool2d_with_indices_backward" => Some(input_at(1)?.elements()),
        // Maximum, difference, exponential, sum, and division or logarithm.
        "softmax" | "log_softmax" | "softmin" => Some(out.saturating_mul(5)),
        _ if reduces(name) => Some(input),
        _ if elementwise(name) => Some(out),
        _ if moves(name) => Some(0),
        _ => None,
    }
}

fn bytes(name: &str, inputs: &[Size], outputs: &[Size]) -> Option<u64> {
    match (name, inputs) {
        // Backward operations are given more than they read: the shapes of what they do not need.
        ("conv1d_x_backward" | "conv2d_x_backward" | "conv3d_x_backward", [_, read @ ..])
        | ("max_pool1d_with_indices_backward" | "max_pool2d_with_indices_backward", [_, read @ ..])
        | ("avg_pool1d_backward" | "avg_pool2d_backward", [_, read @ ..])
        | ("conv1d_bias_backward" | "conv2d_bias_backward" | "conv3d_bias_backward", [_, _, read @ ..]) => {
            Some(sum(read).saturating_add(sum(outputs)))
        }
        ("conv1d_weight_backward" | "conv2d_weight_backward" | "conv3d_weight_backward", [x, _, grad]) => {
            Some(sum(&[*x, *grad]).saturating_add(sum(outputs)))
        }
        _ => plain_bytes(name, inputs, outputs),
    }
}

fn plain_bytes(name: &str, inputs: &[Size], outputs: &[Size]) -> Option<u64> {
    match name {
        "reshape" | "swap_dims" | "permute" | "expand" | "drop" | "empty" => Some(0),
        // Only what is picked is read; the last input tells which.
        "slice" | "gather" | "select" | "gather_nd" | "embedding" => {
            let indices = inputs.get(1..).map_or(0, sum);
            Some(sum(outputs).saturating_mul(2).saturating_add(indices))
        }
        _ => Some(sum(inputs).saturating_add(sum(outputs))),
    }
}

fn sum(sizes: &[Size]) -> u64 {
    sizes.iter().fold(0, |all, size| all.saturating_add(size.bytes()))
}

fn mul_add(times: u64, each: u64) -> u64 {
    times.saturating_mul(each).saturating_mul(2)
}

/// One addition for each output where there is a third input, the bias.
fn bias(inputs: usize, out: u64) -> u64 {
    if inputs > 2 { out } else { 0 }
}

/// Elements of one filter: all axes of the weight but the first.
fn filter(weight: Size) -> Option<u64> {
    Some(product(weight.shape.get(1..)?))
}

fn reduces(name: &str) -> bool {
    matches!(
        name,
        "sum" | "sum_dim" | "sum_dims" | "mean" | "mean_dim" | "prod" | "prod_dim" | "max_abs" | "max_abs_dim"
    )
}

#[rustfmt::skip]
fn elementwise(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "add", "add_scalar", "sub", "sub_scalar", "mul", "mul_scalar", "div", "div_scalar", "rem", "rem_scalar", "abs",
        "exp", "log", "log1p", "erf", "powf", "powf_scalar", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "arc_sin",
        "arc_cos", "arc_tan", "arc_sinh", "arc_cosh", "arc_tanh", "arc_tan2", "recip", "hypot", "round", "floor", "ceil",
        "trunc", "relu", "relu_backward", "leaky_relu", "p_relu", "sigmoid", "clamp", "clamp_min", "clamp_max",
    ];
    NAMES.contains(&name)
}

#[rustfmt::skip]
fn moves(name: &str) -> bool {
    const NAMES: &[&str] = &[
        "init", "drop", "empty", "zeros", "ones", "full", "random", "reshape", "swap_dims", "permute", "flip", "expand",
        "unfold", "unfold4d", "slice", "select", "gather", "gather_nd", "embedding", "repeat_dim", "cat", "cast",
        "mask_where", "mask_fill", "into_int", "into_float", "equal", "equal_elem", "not_equal", "not_equal_elem",
        "greater", "greater_elem", "greater_equal", "greater_equal_elem", "lower", "lower_elem", "lower_equal",
        "lower_equal_elem", "arg_max", "arg_min", "arg_top_k", "top_k", "top_k_with_indices", "max", "max_dim", "min",
        "min_dim", "max_dim_with_indices", "min_dim_with_indices", "max_pool1d", "max_pool2d", "max_pool1d_with_indices",
        "max_pool2d_with_indices", "slice_assign", "is_nan", "is_inf", "all", "any", "all_dim", "any_dim", "not", "and",
        "or", "xor",
    ];
    NAMES.contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn f32s(shape: &[usize]) -> Size<'_> {
        Size { shape, element_bytes: 4 }
    }

    #[test]
    fn convolutions_count_as_in_the_books() {
        let (x, weight, bias, out) =
            (f32s(&[128, 3, 32, 32]), f32s(&[32, 3, 3, 3]), f32s(&[32]), f32s(&[128, 32, 32, 32]));
        let outs = 128 * 32 * 32 * 32;
        assert_eq!(of("conv2d", &[x, weight], &[out], None).flops, Some(2 * outs * 27));
        let with_bias = of("conv2d", &[x, weight, bias], &[out], None);
        assert_eq!(with_bias.flops, Some(2 * outs * 27 + outs));
        assert_eq!(with_bias.bytes, Some(4 * (128 * 3 * 1024 + 32 * 27 + 32 + outs)));
        assert_eq!(of("conv2d_x_backward", &[x, weight, out], &[x], None).flops, Some(2 * outs * 27));
        assert_eq!(of("conv2d_weight_backward", &[x, weight, out], &[weight], None).flops, Some(2 * outs * 27));
        let bias_backward = of("conv2d_bias_backward", &[x, bias, out], &[bias], None);
        assert_eq!(
            bias_backward,
            Work { flops: Some(outs), bytes: Some(4 * (outs + 32)) },
            "only the gradient is read"
        );
        let weight_backward = of("conv2d_weight_backward", &[x, weight, out], &[weight], None);
        assert_eq!(weight_backward.bytes, Some(4 * (128 * 3 * 1024 + outs + 32 * 27)), "the weight itself is not read");
    }

    #[test]
    fn the_three_products_of_a_linear_layer_cost_the_same() {
        let (x, weight, out) = (f32s(&[64, 100]), f32s(&[100, 10]), f32s(&[64, 10]));
        let all = Some(2 * 64 * 100 * 10);
        assert_eq!(of("linear", &[x, weight], &[out], None).flops, all);
        assert_eq!(of("linear_x_backward", &[weight, out], &[x], None).flops, all);
        assert_eq!(of("linear_weight_backward", &[x, out], &[weight], None).flops, all);
        assert_eq!(of("matmul", &[x, weight], &[out], None).flops, all);
    }

    #[test]
    fn views_move_nothing_and_what_is_unknown_stays_unknown() {
        let x = f32s(&[8, 8]);
        assert_eq!(of("reshape", &[x], &[x], None), Work { flops: Some(0), bytes: Some(0) });
        assert_eq!(of("attention", &[x, x, x], &[x], None).flops, None);
        assert_eq!(of("avg_pool2d", &[x], &[f32s(&[4, 4])], None).flops, None, "without its window");
        assert_eq!(of("avg_pool2d", &[x], &[f32s(&[4, 4])], Some(4)).flops, Some(64));
        assert_eq!(of("conv2d", &[x], &[x], None).flops, None, "without its weight");
    }

    #[test]
    fn impossible_sizes_do_not_overflow() {
        let huge = f32s(&[usize::MAX, usize::MAX]);
        assert_eq!(of("conv2d", &[huge, huge, huge], &[huge], None).flops, Some(u64::MAX));
    }
}
