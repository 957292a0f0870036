#!/usr/bin/env python3
"""large-only beside llama.cpp's own llama-bench, interleaved in one run.

usage: against_llama_bench.py RELAYGEN LLAMA_BENCH MODEL.gguf [--small MODEL.gguf] [--threads N] [--runs N] [--prompt TEXT]

Both programs have to come from the same llama.cpp build: `make bench-llama` builds them and calls this script. llama-bench
times bare decodes of one token; the figure for RelayGen is everything after the prompt (decode, sampling, matching,
output) divided by the tokens written. A ratio of 1 means no slower.
"""
import argparse
import json
import statistics
import subprocess

parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
parser.add_argument("relaygen")
parser.add_argument("llama_bench")
parser.add_argument("model")
parser.add_argument("--small", help="the small model of the pair, never asked for a token (default: the model itself)")
parser.add_argument("--threads", default="1")
parser.add_argument("--runs", type=int, default=9)
parser.add_argument("--tokens", default="96")
parser.add_argument("--prompt", default="Mia has 45 boxes with 13 pens in each box. Mia gives 123 pens to Tom. How many pens does Mia have left?")
args = parser.parse_args()


def ours():
    command = [args.relaygen, "run", "--json", "--policy", "large-only", "--temp", "0", "-m", args.model, "-ms", args.small or args.model,
               "-t", args.threads, "-n", args.tokens, args.prompt]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout)
    written = result["usage"]["large_tokens"]
    timing = result["timing"]
    return (timing["total_s"] - timing["prefill_s"]) / (written - 1), timing["large_decode_s"] / timing["large_decodes"]


def theirs():
    command = [args.llama_bench, "-m", args.model, "-t", args.threads, "-p", "0", "-n", args.tokens, "-d", "64", "-r", "1", "-o", "json"]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL).stdout)
    return result[0]["avg_ns"] / 1e9 / int(args.tokens)


ours(), theirs()  # the first touch of the files belongs to neither
rows = []
for _ in range(args.runs):
    whole, decode = ours()
    rows.append((whole, decode, theirs()))
whole, decode, bench = (statistics.median(row[i] for row in rows) for i in range(3))
ratios = sorted(row[0] / row[2] for row in rows)
print(f"milliseconds a token, medians of {args.runs} interleaved runs: RelayGen large-only {1e3 * whole:.3f} "
      f"(of it llama_decode {1e3 * decode:.3f}), llama-bench {1e3 * bench:.3f}")
print(f"ratio RelayGen / llama-bench: median {statistics.median(ratios):.3f}, from {ratios[0]:.3f} to {ratios[-1]:.3f}")
