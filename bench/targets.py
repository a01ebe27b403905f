"""What is aimed at, figure by figure: (figure's name or its beginning, what of it, at least or most, value)."""

TARGETS = [
    ("null.", "ratio", ">=", 0.60),
    ("null.", "cpu_s_per_100k_rows", "<=", 1.0),
    ("kafka", "ratio", ">=", 0.60),
    ("kafka", "rows_per_s", ">=", 150_000),  # either of them
    ("http.durable", "ratio", ">=", 0.76),
    ("http.batched", "ratio", ">=", 0.70),
    ("sql.batch", "ratio", ">=", 0.50),
    ("latency.*.100", "p50_ms", "<=", 0.5),
    ("latency.*.100", "p99_ms", "<=", 3.0),
    ("latency.*.1000", "p50_ms", "<=", 0.5),
    ("latency.*.1000", "p99_ms", "<=", 3.0),
    ("latency.*.poll", "p50_ms", "<=", 100.0),
    ("latency.*.long", "over_oldest_writer_p99_ms", "<=", 2.0),
    ("idle.", "statements_per_s_per_lane", "<=", 1.0),
    ("idle.", "cpu_percent_per_lane", "<=", 0.2),  # relay and backend together
    ("idle.1", "relay_rss_mb", "<=", 30.0),
    ("idle.64", "rss_mb_per_further_lane", "<=", 2.0),
    ("growth", "ratio_of_the_first", ">=", 0.90),
    ("growth", "least_fence_read_of_the_first", "<=", 1.10),
]


def matches(pattern, name):
    wanted, parts = pattern.split("."), name.split(".")
    if wanted[-1] == "":
        return parts[:len(wanted) - 1] == wanted[:-1]
    return len(wanted) == len(parts) and all(w in ("*", p) for w, p in zip(wanted, parts))


def target_of(name, what):
    for pattern, of, relation, value in TARGETS:
        if of == what and matches(pattern, name):
            return relation, value
    return None


def met(target, value):
    return value >= target[1] if target[0] == ">=" else value <= target[1]
