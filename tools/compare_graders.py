#!/usr/bin/env python3
"""Compares `relaygen grade` with math-verify on labelled pairs of answers.

usage: compare_graders.py [PAIRS.jsonl] [--relaygen PROGRAM] [--quiet]

Each line holds "given", "expected" and, where it is known, "same" (true or false). Without a file it is
tests/data/grading_pairs.jsonl. math-verify must be importable: pip install math-verify, in a virtual environment.

math-verify takes formulas out of text. So an answer without delimiters is handed over as $...$, and if nothing is found in
that, as it is. It is asked in both directions, and "the same" in either counts, because relaygen knows no direction.
"""
import argparse
import json
import logging
import os
import subprocess
import sys

from math_verify import parse, verify

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read_pairs(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def ask_relaygen(program, pairs):
    lines = "".join(json.dumps({"given": one["given"], "expected": one["expected"]}) + "\n" for one in pairs)
    done = subprocess.run([program, "grade"], input=lines, capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        sys.exit(done.stderr.strip())
    return [json.loads(line)["same"] for line in done.stdout.splitlines()]


def formulas(text):
    delimited = "$" in text.replace("\\$", "") or "\\(" in text or "\\[" in text or "\\boxed" in text
    found = parse(text if delimited else f"${text}$")
    return found or parse(text)


def ask_math_verify(pair):
    """True, False, or None where it fails or does not understand one of the two."""
    try:
        given, expected = formulas(pair["given"]), formulas(pair["expected"])
        if not given or not expected:
            return None
        return bool(verify(expected, given) or verify(given, expected))
    except Exception:  # whatever it throws, it gave no answer
        return None


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.2f}%)" if whole else "0 of 0"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="?", default=os.path.join(ROOT, "tests/data/grading_pairs.jsonl"))
    parser.add_argument("--relaygen", default=os.path.join(ROOT, "build/release/relaygen"))
    parser.add_argument("--quiet", action="store_true", help="only the counts, no disagreements")
    arguments = parser.parse_args()
    logging.disable(logging.CRITICAL)

    pairs = read_pairs(arguments.pairs)
    ours = ask_relaygen(arguments.relaygen, pairs)
    theirs = [ask_math_verify(one) for one in pairs]

    rows = list(zip(pairs, ours, theirs))
    labelled = [row for row in rows if "same" in row[0]]
    answered = [row for row in rows if row[2] is not None]
    right = [row for row in labelled if row[2] == row[0]["same"]]
    print(f"pairs: {len(rows)}, labelled {len(labelled)}, not understood by math-verify {len(rows) - len(answered)}")
    print("agreement:", share(sum(a == b for _, a, b in answered), len(answered)))
    if labelled:
        print("agreement where math-verify is right:", share(sum(a == b for _, a, b in right), len(right)))
        print("relaygen as labelled:", share(sum(a == one["same"] for one, a, _ in labelled), len(labelled)))
        print("math-verify as labelled:", share(len(right), len(labelled)))
    if arguments.quiet:
        return
    for one, a, b in rows:
        if a == b and a == one.get("same", a):
            continue
        label = f"label {one['same']!s:5}  " if "same" in one else ""
        print(f"  {label}relaygen {a!s:5}  math-verify {b!s:5}  {one['given']!r}  {one['expected']!r}")


if __name__ == "__main__":
    main()
