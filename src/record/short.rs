//! Short names of kernels and of what is tuned, as lanes and progress lines show them.

/// The last part of a kernel's type path or of a tuning key, without its parameters.
pub(crate) fn short_name(name: &str) -> &str {
    let head = name.split(['<', ' ', '{']).next().unwrap_or(name);
    head.rsplit("::").next().unwrap_or(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_parameters_are_left_out() {
        assert_eq!(short_name("a::b::Conv<x::F32, y::Z>"), "Conv");
        let key = "gemm_None-MatmulAutotuneKey - Definition: MatmulProblemDefinition { m: 32 }";
        assert_eq!(short_name(key), "gemm_None-MatmulAutotuneKey");
        assert_eq!(short_name("cubek_matmul::multi::entry::MatmulEntry<f32>"), "MatmulEntry");
    }
}
