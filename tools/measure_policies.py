#!/usr/bin/env python3
"""Measures policies on problems with known answers and prints a Markdown table.

usage: measure_policies.py PROBLEMS.jsonl [options] [-- FLAG...]

Each line of PROBLEMS.jsonl holds an id, a question and an answer. Every problem is one `relaygen run --json`; what comes
after -- goes to each of them (-m, -ms, --profile, --temp, ...). Greedy unless --temp says otherwise. Problem number i
(from 0) gets the seed SEED + i, so that a repetition writes the same texts.

Grading: the last \\boxed{...} of the answer has to equal the expected string. A text that did not come to its end counts
as wrong. A run that failed is reported and not counted at all.

`random` is the control: handoffs at sentence starts by chance. Its rate is looked for first, on up to 100 of the problems,
so that handoffs a problem and the share of the small model come close to those of `relay`: by bisection on the mean of
the two ratios. --random-rate gives a rate instead.
"""
import argparse
import concurrent.futures
import json
import math
import os
import subprocess
import sys
import time
from dataclasses import dataclass, field

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CALIBRATION_PROBLEMS = 100
BISECTION_STEPS = 7


@dataclass
class Outcome:
    """What one run gave."""
    problem: str
    error: str = ""      # not empty: the run failed, and nothing else here means anything
    correct: bool = False
    finished: bool = True
    tokens: int = 0      # generated ones
    small: int = 0
    handoffs: int = 0


@dataclass
class Result:
    """All runs of one policy."""
    policy: str
    outcomes: list = field(default_factory=list)
    seconds: float = 0

    @property
    def counted(self):
        return [one for one in self.outcomes if not one.error]

    def mean(self, name):
        return sum(getattr(one, name) for one in self.counted) / max(1, len(self.counted))

    @property
    def share(self):
        tokens = sum(one.tokens for one in self.counted)
        return sum(one.small for one in self.counted) / tokens if tokens else 0.0


def boxed(text):
    """What the last \\boxed{...} of a text holds, or None."""
    start = text.rfind("\\boxed{")
    if start < 0:
        return None
    start += len("\\boxed{")
    depth = 1
    for at in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if depth == 0:
            return text[start:at].strip()
    return None


def wilson(correct, count, z=1.959964):
    """The 95% Wilson interval of a share."""
    if count == 0:
        return 0.0, 1.0
    share = correct / count
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


def solve(program, flags, problem, seed):
    command = [program, "run", "--json", "--seed", str(seed), *flags]
    done = subprocess.run(command, input=problem["question"], capture_output=True, text=True, encoding="utf-8")
    if done.returncode != 0:
        return Outcome(problem["id"], error=done.stderr.strip() or f"exit code {done.returncode}")
    result = json.loads(done.stdout)
    usage = result["usage"]
    finished = result["finish"] in ("stop", "stop_string")
    return Outcome(problem["id"], correct=finished and boxed(result["answer"]) == str(problem["answer"]).strip(), finished=finished,
                   tokens=usage["completion_tokens"], small=usage["small_tokens"], handoffs=usage["handoffs"])


def measure(args, policy, problems, extra=()):
    """Runs one policy over the problems, args.jobs at a time."""
    flags = [*(["--temp", "0"] if "--temp" not in args.flags else []), *args.flags, "--policy", policy, *extra]
    result = Result(policy)
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        runs = pool.map(lambda item: solve(args.relaygen, flags, item[1], args.seed + item[0]), enumerate(problems))
        for done, outcome in enumerate(runs, 1):
            result.outcomes.append(outcome)
            if done % 100 == 0:
                print(f"{policy} {' '.join(extra)}: {done} of {len(problems)}", file=sys.stderr)
    result.seconds = time.monotonic() - start
    return result


def find_random_rate(args, problems):
    """The rate at which `random` hands over about as often and as much as `relay`."""
    some = problems[:CALIBRATION_PROBLEMS]
    target = measure(args, "relay", some)
    if target.mean("handoffs") == 0 or target.share == 0:
        sys.exit("relay makes no handoffs on these problems, so there is nothing for random to match: give --random-rate")
    low, high = 0.0, 1.0
    for _ in range(BISECTION_STEPS):
        rate = (low + high) / 2
        tried = measure(args, "random", some, ["--random-rate", f"{rate:.4f}"])
        excess = (tried.mean("handoffs") / target.mean("handoffs") + tried.share / target.share) / 2
        print(f"random rate {rate:.4f}: {tried.mean('handoffs'):.2f} handoffs, {100 * tried.share:.1f}% "
              f"(relay: {target.mean('handoffs'):.2f}, {100 * target.share:.1f}%)", file=sys.stderr)
        low, high = (low, rate) if excess > 1 else (rate, high)
    return round((low + high) / 2, 3)


def table(results):
    lines = ["| policy | accuracy | 95% interval | tokens by the small model | handoffs a problem | tokens a problem |", "|---|---|---|---|---|---|"]
    for result in results:
        count = len(result.counted)
        if count == 0:
            lines.append(f"| {result.policy} | every run failed | | | | |")
            continue
        correct = sum(one.correct for one in result.counted)
        low, high = wilson(correct, count)
        lines.append(f"| {result.policy} | {100 * correct / count:.1f}% | {100 * low:.1f} to {100 * high:.1f}% | {100 * result.share:.1f}% "
                     f"| {result.mean('handoffs'):.1f} | {result.mean('tokens'):.0f} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0], usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("problems", help="JSONL with id, question and answer")
    parser.add_argument("--first", type=int, default=0, metavar="N", help="only the first N problems (default: all)")
    parser.add_argument("--policies", default="large-only,small-only,relay,random", help="separated by commas (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="K", help="runs at a time (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="of the first problem; the next one has this + 1 (default: %(default)s)")
    parser.add_argument("--random-rate", type=float, metavar="P", help="for random, instead of looking for it")
    parser.add_argument("--relaygen", default=os.path.join(ROOT, "build/release/relaygen"), metavar="FILE", help="the program (default: build/release/relaygen)")
    parser.add_argument("--save", metavar="FILE", help="also write every outcome, one JSON object a line")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    args = parser.parse_args(sys.argv[1:split])
    args.flags = sys.argv[split + 1:]

    with open(args.problems, encoding="utf-8") as file:
        problems = [json.loads(line) for line in file if line.strip()]
    if args.first > 0:
        problems = problems[:args.first]
    start = time.monotonic()
    results = []
    for policy in args.policies.split(","):
        extra = []
        if policy == "random":
            rate = args.random_rate if args.random_rate is not None else find_random_rate(args, problems)
            print(f"random rate: {rate}", file=sys.stderr)
            extra = ["--random-rate", str(rate)]
        results.append(measure(args, policy, problems, extra))
        if extra:
            results[-1].policy += f" (rate {rate:g})"
    if args.save:
        with open(args.save, "w", encoding="utf-8") as file:
            for result in results:
                for outcome in result.outcomes:
                    file.write(json.dumps({"policy": result.policy, **vars(outcome)}) + "\n")

    print(table(results))
    print()
    unfinished = {result.policy: sum(not one.finished for one in result.counted) for result in results}
    print(f"{len(problems)} problems, {time.monotonic() - start:.0f} s with {args.jobs} runs at a time. Unfinished, counted as wrong: "
          + (", ".join(f"{policy} {count}" for policy, count in unfinished.items() if count) or "none") + ".")
    failed = 0
    for result in results:
        for outcome in result.outcomes:
            if outcome.error:
                failed += 1
                print(f"{result.policy}, problem {outcome.problem}: {outcome.error}", file=sys.stderr)
    if failed:
        print(f"{failed} runs failed and are not counted.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
