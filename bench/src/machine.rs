//! What the figures were measured on.

/// Processor, cores, memory and versions, in one line each.
pub(crate) fn describe() -> Vec<(String, String)> {
    let file = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let field = |text: &str, key: &str| {
        text.lines()
            .find(|line| line.starts_with(key))
            .and_then(|line| line.split(':').nth(1))
            .map(|value| value.trim().to_owned())
    };
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let memory = field(&file("/proc/meminfo"), "MemTotal")
        .and_then(|text| text.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()))
        .unwrap_or_default();
    vec![
        ("processor".to_owned(), field(&file("/proc/cpuinfo"), "model name").unwrap_or_default()),
        ("cores".to_owned(), cores.to_string()),
        ("memory".to_owned(), format!("{} GiB", memory / 1024 / 1024)),
        ("kernel".to_owned(), file("/proc/sys/kernel/osrelease").trim().to_owned()),
        (
            "control plane".to_owned(),
            "v1.36.4 with kwok 0.8.0, etcd without fsync, all on the same machine".to_owned(),
        ),
        ("measured".to_owned(), jiff::Timestamp::now().strftime("%Y-%m-%d").to_string()),
    ]
}
