"""Large model with the small one as drafter: RelayGen beside llama-server's speculative decoding, in one run.

usage: against_llama_speculative.py RELAYGEN LLAMA_SERVER -m LARGE -ms SMALL [--trace T --acceptance A | --prompts P]

Both programs have to come from the same llama.cpp build (`make bench-llama`).

With --trace and --acceptance the weights may be random: RelayGen replays windows of recorded texts with guesses that are
right with this probability, and llama-server accepts guesses at the same rate (--spec-synth-rates A, A^2, ...). Without
them both write greedy answers to the same prompts, which gives the same texts, and the time is all of it, prompt included.
llama-server drafts up to --draft-max tokens (its default is 3); RelayGen chooses lengths by itself.
"""
import argparse
import json
import statistics
import subprocess
import sys
import tempfile

from published_architecture import Server, WORD


def servers_time(args, more, prompts):
    """Milliseconds and tokens of all texts, and the share of guesses that stood."""
    server = Server(args.server, args.model, args.threads, args.context, more)
    try:
        milliseconds = tokens = drafted = accepted = 0
        for repeat, prompt in enumerate([prompts[0]] + prompts):  # the first one warms up
            server.connect()
            if args.acceptance is None:
                reply = server.post("/v1/chat/completions", {
                    "messages": [{"role": "user", "content": prompt}], "temperature": 0, "top_k": 1, "cache_prompt": False})
            else:
                reply = server.post("/completion", {
                    "prompt": prompt, "n_predict": args.tokens, "temperature": 0, "top_k": 1, "samplers": ["top_k"],
                    "ignore_eos": True, "cache_prompt": False})
            if repeat == 0:
                continue
            timings = reply["timings"]
            milliseconds += timings["predicted_ms"] + (timings["prompt_ms"] if args.acceptance is None else 0)
            tokens += timings["predicted_n"]
            drafted += timings.get("draft_n", 0)
            accepted += timings.get("draft_n_accepted", 0)
        return milliseconds, tokens, accepted / drafted if drafted else None
    finally:
        server.stop()


def our_times(args, prompts):
    command = [args.relaygen, "bench", "-m", args.model, "-ms", args.small, "-t", str(args.threads), "--policies",
               "large,large+draft", "-r", "1", "--json"]
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        if args.acceptance is None:
            file.writelines(json.dumps({"prompt": prompt}) + "\n" for prompt in prompts)
            file.flush()
            command += ["--prompts", file.name, "--first", str(len(prompts)), "--temp", "0"]
        else:
            command += ["--trace", args.trace, "--windows", str(len(prompts)), "--tokens", str(args.tokens), "--depth",
                        str(args.depth), "--acceptance", str(args.acceptance)]
        rows = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)["rows"]
    return [(1e3 * row["seconds"]["value"], row["tokens"], row["accepted"] / row["drafted"] if row["drafted"] else None)
            for row in rows]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("relaygen")
    parser.add_argument("server")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-ms", "--small", required=True)
    parser.add_argument("--trace")
    parser.add_argument("--acceptance", type=float)
    parser.add_argument("--prompts", help="JSONL with a \"question\"")
    parser.add_argument("--first", type=int, default=2, help="so many prompts or windows")
    parser.add_argument("--tokens", type=int, default=256)
    parser.add_argument("--depth", type=int, default=64)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--draft-max", type=int, default=3)
    parser.add_argument("--flash-attn", choices=["on", "off", "auto"], default="auto", help="of llama-server")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--repetitions", type=int, default=3)
    args = parser.parse_args()
    if (args.trace is None) != (args.acceptance is None) or (args.trace is None) == (args.prompts is None):
        sys.exit("against_llama_speculative.py: give --trace and --acceptance, or --prompts")

    plain = ["--flash-attn", args.flash_attn]
    drafting = plain + ["-md", args.small, "--spec-type", "draft-simple", "--spec-draft-n-max", str(args.draft_max),
                "--spec-draft-threads", str(args.threads)]
    if args.acceptance is None:
        with open(args.prompts) as file:
            prompts = [json.loads(line)["question"] for line, _ in zip(file, range(args.first))]
    else:
        prompts = [WORD * args.depth] * args.first
        drafting += ["--spec-synth-rates", ",".join(f"{args.acceptance ** (i + 1):.6f}" for i in range(args.draft_max))]

    names = ["RelayGen large", "RelayGen large + draft", "llama-server", "llama-server + draft"]
    results = {name: [] for name in names}
    for _ in range(args.repetitions):
        for name, result in zip(names, our_times(args, prompts) + [servers_time(args, plain, prompts), servers_time(args, drafting, prompts)]):
            results[name].append(result)
        print(json.dumps({name: results[name][-1] for name in names}), flush=True)
    for name in names:
        per_token = [milliseconds / tokens for milliseconds, tokens, _ in results[name]]
        stood = results[name][-1][2]
        print(f"{name:<24}{statistics.median(per_token):9.3f} ms a token ({min(per_token):.3f} to {max(per_token):.3f})"
              + (f", {100 * stood:.1f}% of the guesses stood" if stood is not None else ""))
    ratios = [theirs[0] / theirs[1] / (ours[0] / ours[1])
              for ours, theirs in zip(results[names[1]], results[names[3]])]
    print(f"with drafts RelayGen is {statistics.median(ratios):.2f} times as fast ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
