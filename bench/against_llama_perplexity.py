"""What reading a trace costs beside llama.cpp's perplexity tool: the same model, the same texts, both from one source.

Calibration reads every trace with both models and keeps an opinion of each token (margin, log p, entropy, the most likely
token). The perplexity tool reads windows of 512 tokens and looks at the second half of each. So it computes half as many
rows of logits; the texts here are cut so that neither reads behind more context than the other.

  python3 bench/against_llama_perplexity.py build/bench-llama/relaygen build/bench-llama/bin/llama-perplexity MODEL TEXT
"""
import argparse
import json
import os
import re
import sqlite3
import statistics
import subprocess
import tempfile
import time

WINDOW = 512


def timed(command, **more):
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **more)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {done.stderr[-400:]}")
    return time.perf_counter() - start, done


def relaygen_ms(args, folder, pieces):
    traces, database = os.path.join(folder, "traces.jsonl"), os.path.join(folder, "traces.db")
    for name in os.listdir(folder):
        if name.startswith("traces.db"):
            os.remove(os.path.join(folder, name))
    with open(traces, "w") as file:
        for i, piece in enumerate(pieces):
            file.write(json.dumps({"id": str(i), "question": "?", "text": piece}) + "\n")
    command = [args.relaygen, "calibrate", "-ms", args.model, "--traces", traces, "--rule", "published", "-t",
               str(args.threads), "-c", "1024", "-q", "--db", database, "--stage"]
    timed(command + ["traces"])
    reading, _ = timed(command + ["margins"])
    loading, _ = timed(command + ["margins"])  # nothing is left to read
    rows = sqlite3.connect(database).execute("SELECT length(tokens) / 4, length(prompt) / 4 FROM traces").fetchall()
    return 1000 * (reading - loading) / sum(tokens + prompt for tokens, prompt in rows)


def perplexity_ms(args, folder, text):
    path = os.path.join(folder, "text.txt")
    with open(path, "w") as file:
        file.write(text)
    command = [args.perplexity, "-m", args.model, "-f", path, "-c", str(WINDOW), "-b", str(WINDOW), "-ub", "512", "-t",
               str(args.threads)]
    begin = chunks = None
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        for line in process.stdout:  # from the first chunk to the result
            found = re.search(r"calculating perplexity over (\d+) chunks", line)
            if found:
                begin, chunks = time.perf_counter(), int(found.group(1))
            if "Final estimate" in line and begin is not None:
                return 1000 * (time.perf_counter() - begin) / (chunks * WINDOW)
    raise SystemExit("llama-perplexity gave no result")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("relaygen")
    parser.add_argument("perplexity")
    parser.add_argument("model")
    parser.add_argument("text", help="a plain text of some thousand tokens")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--repetitions", type=int, default=5)
    parser.add_argument("--characters", type=int, default=1200, help="of a piece: about 400 tokens")
    args = parser.parse_args()
    text = open(args.text, encoding="utf-8").read()
    pieces = [text[i:i + args.characters] for i in range(0, len(text) - args.characters, args.characters)]
    ratios = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(args.repetitions):
            ours, theirs = relaygen_ms(args, folder, pieces), perplexity_ms(args, folder, text)
            ratios.append(ours / theirs)
            print(f"{ours:.3f} ms a token here, {theirs:.3f} by llama-perplexity: {ratios[-1]:.2f}", flush=True)
    print(f"median {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}) over {len(ratios)} repetitions")


if __name__ == "__main__":
    main()
