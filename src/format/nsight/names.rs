//! What Nsight Systems' numbers and names stand for, in the words of PyTorch's profiler, so that traces of both can be
//! laid beside each other.

/// Process and thread in a `globalTid`; a `globalPid` has the thread 0.
pub(super) fn process_and_thread(global: i64) -> (i64, i64) {
    ((global >> 24) & 0xff_ffff, global & 0xff_ffff)
}

/// A call without the version of its interface: `cudaLaunchKernel_v7000` is `cudaLaunchKernel`.
pub(super) fn call(name: &str) -> &str {
    match name.rsplit_once("_v") {
        Some((base, version)) if !version.is_empty() && version.bytes().all(|byte| byte.is_ascii_digit()) => base,
        _ => name,
    }
}

/// The category of a call into a library, by the table that it is in and its name.
pub(super) fn call_category(table: &str, name: &str) -> &'static str {
    let after = |prefix: &str| name.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(char::is_uppercase));
    match table {
        "CUPTI_ACTIVITY_KIND_RUNTIME" if after("cu") => "cuda_driver",
        "CUPTI_ACTIVITY_KIND_RUNTIME" => "cuda_runtime",
        "OSRT_API" => "os_runtime",
        "CUDNN_EVENTS" => "cudnn",
        "CUBLAS_EVENTS" => "cublas",
        _ => "library call",
    }
}

/// A range that `torch.autograd.profiler.emit_nvtx` wrote, taken apart: its name and what follows it, as pairs.
///
/// The text is `aten::mm, seq = 12, sizes = [[8, 16], [16, 4]], op_id = 3`, the pairs in any order and number. Other
/// texts are names as a whole.
pub(super) fn range(text: &str) -> (&str, Vec<(&str, &str)>) {
    const KEYS: [&str; 4] = ["op_id", "seq", "sizes", "input_op_ids"];
    let mut places: Vec<(usize, &str, usize)> = Vec::new();
    for key in KEYS {
        let pattern = format!(", {key} = ");
        if let Some(at) = text.find(&pattern) {
            places.push((at, key, at + pattern.len()));
        }
    }
    places.sort_unstable();
    let Some((end, ..)) = places.first().copied() else { return (text, Vec::new()) };
    let pairs = places.iter().enumerate().map(|(idx, (_, key, from))| {
        let to = places.get(idx + 1).map_or(text.len(), |next| next.0);
        (*key, text.get(*from..to).unwrap_or(""))
    });
    (text.get(..end).unwrap_or(text), pairs.collect())
}

/// `CUpti_ActivityMemcpyKind`.
pub(super) fn copy_kind(kind: i64) -> &'static str {
    match kind {
        1 => "HtoD",
        2 => "DtoH",
        3 => "HtoA",
        4 => "AtoH",
        5 => "AtoA",
        6 => "AtoD",
        7 => "DtoA",
        8 => "DtoD",
        9 => "HtoH",
        10 => "PtoP",
        11 | 12 => "unified memory",
        _ => "of unknown kind",
    }
}

/// `CUpti_ActivityMemoryKind`, or the exporter's own numbers, which agree for the kinds that occur.
pub(super) fn memory_kind(kind: i64) -> &'static str {
    match kind {
        0 => "Pageable",
        1 => "Pinned",
        2 => "Device",
        3 => "Array",
        4 => "Managed",
        5 => "Device static",
        6 => "Managed static",
        _ => "Unknown",
    }
}

/// `CUpti_ActivitySynchronizationType`.
pub(super) fn sync_kind(kind: i64) -> &'static str {
    match kind {
        1 => "Event Sync",
        2 => "Stream Wait Event",
        3 => "Stream Sync",
        4 => "Context Sync",
        _ => "Sync of unknown kind",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_pytorch_are_taken_apart() {
        let text = "aten::mm, seq = 12, sizes = [[8, 16], [16, 4]], op_id = 3";
        assert_eq!(range(text), ("aten::mm", vec![("seq", "12"), ("sizes", "[[8, 16], [16, 4]]"), ("op_id", "3")]));
        assert_eq!(range("aten::to, op_id = 317177"), ("aten::to", vec![("op_id", "317177")]));
        assert_eq!(range("step, 4"), ("step, 4", vec![]));
        assert_eq!(range(", seq = "), ("", vec![("seq", "")]));
    }

    #[test]
    fn versions_of_calls_are_left_out() {
        assert_eq!(call("cudaLaunchKernel_v7000"), "cudaLaunchKernel");
        assert_eq!(call("cuMemcpyHtoDAsync_v2"), "cuMemcpyHtoDAsync");
        assert_eq!(call("my_value"), "my_value");
        assert_eq!(call("a_v"), "a_v");
        assert_eq!(call_category("CUPTI_ACTIVITY_KIND_RUNTIME", "cuLaunchKernel"), "cuda_driver");
        assert_eq!(call_category("CUPTI_ACTIVITY_KIND_RUNTIME", "cudaLaunchKernel"), "cuda_runtime");
    }

    #[test]
    fn global_identifiers_are_taken_apart() {
        assert_eq!(process_and_thread((7 << 48) | (466 << 24) | 512), (466, 512));
        assert_eq!(process_and_thread(-1), (0xff_ffff, 0xff_ffff));
    }
}
