"""Makes a pair like the bundled one from scratch: tokenizer, both models, their exports, the problems.

About two hours on two cores. --quick does the same in a few minutes, with models that have learnt next to nothing.
"""
import argparse
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# Training allocates and frees large buffers all the time; glibc must not hand them back to the system each time.
MALLOC = {name: str(1 << 30) for name in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")}
MALLOC["MALLOC_TOP_PAD_"] = str(1 << 28)


def run(script, *arguments):
    print(f"== {script} {' '.join(arguments)}", flush=True)
    subprocess.run([sys.executable, os.path.join(HERE, script), *arguments], check=True, env={**MALLOC, **os.environ})


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=" ".join(__doc__.splitlines()[2:]).strip()
    )
    parser.add_argument("output", help="folder for the pair; must not be models/demo, whose weights are frozen")
    parser.add_argument("--quick", action="store_true", help="a smoke test of the whole way")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    output = os.path.abspath(args.output)
    if os.path.exists(os.path.join(output, "SHA256SUMS")):
        parser.error(f"{output} holds frozen weights: give another folder")
    work = os.path.join(output, "training")
    os.makedirs(work, exist_ok=True)

    large, large_resumed, small = ("0.4", "0.1", "0.2") if args.quick else ("70", "22", "3.5")
    common = ["--threads", str(args.threads), "--folder", work]
    if args.quick:
        common += ["--evaluate", "1"]
    run("make_tokenizer.py", os.path.join(work, "tokenizer.json"))
    run("train.py", "large", "--minutes", large, "--batch", "24", *common)
    run("train.py", "large", "--minutes", large_resumed, "--batch", "24", "--resume", *common)
    run("train.py", "small", "--minutes", small, "--batch", "32", *common)
    for name in ("large", "small"):
        run("export.py", name, output, "--folder", work)
    streams = [os.path.join(work, f"{name}.streams.json") for name in ("large", "small")]
    run("make_data.py", output, "--streams", *streams)


if __name__ == "__main__":
    try:
        main()
    except subprocess.CalledProcessError as error:
        sys.exit(f"train_all.py: {os.path.basename(error.cmd[1])} failed, as shown above")
