"""Writes calibration and held-out problems whose question neither model met in training.

Replays the training streams (same seeds, same draws) to collect every question seen, then draws problems from other
seeds and keeps those whose question is not among them. Without --streams it replays those of the bundled pair and
writes its problems byte for byte.
"""
import argparse
import json
import os
import random

from problems import conversation, labelled_problem

# seed, batch size, steps (a few more than were taken): large, large resumed, small
BUNDLED_STREAMS = [(11, 24, 3300), (13, 24, 1200), (12, 32, 1450)]
BATCHES_IN_A_POOL = 16
CALIBRATION_SEED = 777001
HELDOUT_SEED = 777002


def question_key(text):
    """The question without what a conversation may append to it."""
    for suffix in ("Put the answer", "Please reason", "Explain your"):
        text = text.split(suffix)[0]
    return text.strip()


def seen_questions(seed, batch, steps):
    """Every question of the first `steps` batches of a stream, and of the pool that was under way."""
    rng = random.Random(seed)
    seen = set()
    pools = -(-steps // BATCHES_IN_A_POOL) + 1
    for _ in range(pools):
        for _ in range(batch * BATCHES_IN_A_POOL):
            prompt = conversation(rng)[0]
            for part in prompt.split("<|im_start|>user\n")[1:]:
                seen.add(question_key(part.split("<|im_end|>")[0]))
        rng.shuffle([None] * BATCHES_IN_A_POOL)  # training shuffles its pool here
    return seen


def draw(seed, count, avoid):
    """Returns `count` problems with distinct questions outside `avoid`."""
    rng = random.Random(seed)
    rows, questions = [], set()
    while len(rows) < count:
        question, trace, answer, value = labelled_problem(rng)
        if question in avoid or question in questions:
            continue
        questions.add(question)
        rows.append(
            {
                "id": f"{seed}-{len(rows)}",
                "question": question,
                "answer": str(value),
                "template": trace.template,
                "solution": f"<think>\n{trace.text()}\n</think>\n\n{answer}",
                "labels": trace.labels,
            }
        )
    return rows


def write(path, rows):
    with open(path, "w") as file:
        for row in rows:
            file.write(json.dumps(row) + "\n")
    print(f"{path}: {len(rows)} problems")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", help="where problems.calibration.jsonl and problems.heldout.jsonl go")
    parser.add_argument("--streams", nargs="+", metavar="FILE", help="*.streams.json that train.py wrote")
    parser.add_argument("--calibration", type=int, default=200, metavar="N")
    parser.add_argument("--heldout", type=int, default=4000, metavar="N")
    args = parser.parse_args()

    streams = BUNDLED_STREAMS
    if args.streams:
        streams = []
        for path in args.streams:
            with open(path) as file:
                streams += [(s["seed"], s["batch"], s["steps"]) for s in json.load(file)]
    seen = set().union(*(seen_questions(*stream) for stream in streams))
    print(f"{len(seen)} questions were seen in training")
    calibration = draw(CALIBRATION_SEED, args.calibration, seen)
    heldout = draw(HELDOUT_SEED, args.heldout, seen | {row["question"] for row in calibration})
    for row in heldout:
        del row["solution"], row["labels"]
    write(os.path.join(args.folder, "problems.calibration.jsonl"), calibration)
    write(os.path.join(args.folder, "problems.heldout.jsonl"), heldout)


if __name__ == "__main__":
    main()
