"""Measures the engine: how long a snapshot of many records takes."""

import argparse
import statistics
import subprocess
import time

WARMUP = 2


def measure(program, runs):
    times = []
    for run in range(runs + WARMUP):
        start = time.perf_counter()
        subprocess.run([program, "snapshot", "--quiet"], check=True)
        if run >= WARMUP:
            times.append(time.perf_counter() - start)
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("programs", nargs="*", default=["target/release/ferry"])
    options = parser.parse_args()
    for program in options.programs:
        times = measure(program, options.runs)
        print(f"{program}: median {statistics.median(times) * 1000:.1f} ms")


if __name__ == "__main__":
    main()
