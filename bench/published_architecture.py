"""What a handoff costs here, beside the published architecture: two servers, text handed over by HTTP.

The reference implementation of the method runs the two models in two servers. At a handoff the whole text goes to the
other server, which tokenizes it again, finds the longest prefix that it has cached, and reads the rest. Here both models
share one process and token ids. This script runs the same schedule of segments both ways, interleaved:

  relaygen bench      replays windows of recorded texts under the relay and tells the schedule that this gave;
  two llama-servers   are asked for the same segments, their lengths forced by n_predict, with prompt caching on.

The servers get every advantage: one slot, greedy sampling from one candidate, no prompt store, and a bias that makes
both models write one harmless word for ever, so that tokenizing the text again always gives the same tokens back and no
prefix is lost to it. (Real text does lose some.) What is compared is the time beyond the batches themselves, whose costs
relaygen measured in the same run. A program may also be slower at each token that it writes; so on both sides a model also
writes the windows alone, and what a token takes there is counted as the token's and not as the handoff's.

With models of a real size the noise of the machine is larger than all of this. The shape qwen3-tiny of
tools/make_random_gguf.py has a real vocabulary and next to no layers, which leaves the overhead:

  python3 bench/published_architecture.py build/bench-llama/relaygen build/bench-llama/bin/llama-server \\
    -m large.gguf -ms small.gguf --profile profiles/qwen3-32b-1.7b.json --trace traces.jsonl
"""
import argparse
import http.client
import json
import socket
import statistics
import subprocess
import sys
import time

WORD = " a"


class Server:
    """A llama-server with one slot."""

    def __init__(self, program, model, threads, context, more=()):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        command = [program, "-m", model, "--host", "127.0.0.1", "--port", str(self.port), "-t", str(threads), "-np", "1",
                   "-c", str(context), "--cache-ram", "0", "--no-webui", *more]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=3600)
        self.wait()
        tokens = self.post("/tokenize", {"content": WORD})["tokens"]
        if len(tokens) != 1:
            sys.exit(f"published_architecture.py: {WORD!r} is no single token of this vocabulary")
        self.word = tokens[0]

    def wait(self):
        for _ in range(600):
            if self.process.poll() is not None:
                sys.exit("published_architecture.py: llama-server ended; run it by hand to see why")
            try:
                self.connection.request("GET", "/health")
                if self.connection.getresponse().read() and self.ready():
                    return
            except OSError:
                self.connection.close()
            time.sleep(0.5)
        sys.exit("published_architecture.py: llama-server did not become ready")

    def ready(self):
        self.connection.request("GET", "/health")
        response = self.connection.getresponse()
        response.read()
        return response.status == 200

    def connect(self):
        """A fresh connection: the server drops one that was idle while the other model wrote."""
        self.connection.close()
        self.connection.connect()

    def post(self, path, body):
        self.connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        response = self.connection.getresponse()
        data = json.loads(response.read())
        if response.status != 200:
            sys.exit(f"published_architecture.py: llama-server: {data}")
        return data

    def write(self, text, tokens):
        """Lets it write so many tokens behind the text. Returns the reply."""
        return self.post("/completion", {"prompt": text, "n_predict": tokens, "cache_prompt": True, "temperature": 0,
                                         "samplers": ["top_k"], "top_k": 1, "ignore_eos": True,
                                         "logit_bias": [[self.word, 100000.0]]})

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Costs:
    """Measured seconds of batches, between sizes by straight lines."""

    def __init__(self, measured):
        samples = {}
        for cost in measured:  # windows of unequal length are measured at several depths
            samples.setdefault(cost["model"], {}).setdefault(cost["rows"], []).append(cost["seconds"])
        self.tables = {model: sorted((rows, statistics.mean(seconds)) for rows, seconds in table.items())
                       for model, table in samples.items()}

    def seconds(self, model, rows):
        table = self.tables[model]
        if len(table) == 1:
            return table[0][1]
        upper = next((i for i in range(1, len(table)) if table[i][0] >= rows), len(table) - 1)
        (r0, s0), (r1, s1) = table[upper - 1], table[upper]
        return s0 + (s1 - s0) / (r1 - r0) * (rows - r0)


def relay_run(args):
    command = [args.relaygen, "bench", "-m", args.model, "-ms", args.model_small, "--profile", args.profile, "--trace",
               args.trace, "--policies", "large-only,relay", "-r", "1", "--json", "--windows", str(args.windows),
               "--tokens", str(args.tokens), "--depth", str(args.depth), "-t", str(args.threads), "--min-large-tokens",
               str(args.min_large_tokens)]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def alone(server, windows, tokens, depth):
    """Seconds a token where one server writes each window in one request, behind a context that it has read."""
    seconds = written = 0
    for _ in range(windows):
        server.connect()
        server.write(WORD * depth, 1)
        server.connect()
        start = time.perf_counter()
        written += server.write(WORD * depth, tokens)["tokens_predicted"]
        seconds += time.perf_counter() - start
    return seconds / written


def servers_run(servers, windows, depth, costs, paces):
    """The same segments by two servers. Returns seconds in all, the seconds of their batches with each token at the
    server's own pace, and how many tokens were read again beyond those handed over."""
    seconds = ideal = 0.0
    recomputed = 0
    for segments in windows:
        text = WORD * depth
        for server in servers.values():
            server.connect()
            server.write(text, 1)
        unread = {"large": 1, "small": 1}  # tokens of the text that a model has to read before it writes
        for author, tokens in segments:
            servers[author].connect()  # not timed
            start = time.perf_counter()
            reply = servers[author].write(text, tokens)
            text += reply["content"]
            seconds += time.perf_counter() - start
            read, written = reply["timings"]["prompt_n"], reply["tokens_predicted"]
            if written != tokens:
                sys.exit(f"published_architecture.py: {tokens} tokens were asked for and {written} came")
            recomputed += max(0, read - unread[author])
            ideal += costs.seconds(author, unread[author]) + (tokens - 1) * paces[author]
            unread[author] = 1
            other = "small" if author == "large" else "large"
            unread[other] += tokens
    return seconds, ideal, recomputed


def over_ideal(row):
    """Seconds of a row beyond its batches. The large model alone hands nothing over: what it takes there is its pace."""
    return row["seconds"]["value"] - row["ideal_seconds"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("relaygen")
    parser.add_argument("server", help="llama-server, built from the same source")
    parser.add_argument("-m", "--model", required=True)
    parser.add_argument("-ms", "--model-small", required=True)
    parser.add_argument("--profile", required=True)
    parser.add_argument("--trace", required=True)
    parser.add_argument("--windows", type=int, default=4)
    parser.add_argument("--tokens", type=int, default=128)
    parser.add_argument("--depth", type=int, default=256)
    parser.add_argument("--min-large-tokens", type=int, default=0, help="0: as the paper's list of cues is meant")
    parser.add_argument("-t", "--threads", type=int, default=2)
    parser.add_argument("-r", "--repetitions", type=int, default=3)
    args = parser.parse_args()

    context = args.depth + 2 * args.tokens + 256
    servers = {}
    results = []
    try:
        for name, model in (("large", args.model), ("small", args.model_small)):
            servers[name] = Server(args.server, model, args.threads, context)
        for _ in range(args.repetitions):
            bench = relay_run(args)
            large, relay = bench["rows"]
            handoffs = relay["handoffs"]
            if handoffs == 0:
                sys.exit("published_architecture.py: no cue stands in these windows; give more or longer ones")
            costs = Costs(bench["batch_costs"])
            paces = {name: alone(server, args.windows, args.tokens, args.depth) for name, server in servers.items()}
            seconds, ideal, recomputed = servers_run(servers, relay["segments"], args.depth, costs, paces)
            results.append({
                "large_only_s": large["seconds"]["value"], "relay_s": relay["seconds"]["value"], "servers_s": seconds,
                "large_server_s": paces["large"] * large["tokens"], "relay_ideal_s": relay["ideal_seconds"],
                "servers_ideal_s": ideal, "handoffs": handoffs,
                "relay_handoff_us": 1e6 * relay["handoff_overhead_s"],
                "relay_over_ideal_us": 1e6 * (over_ideal(relay) - over_ideal(large)) / handoffs,
                "servers_over_ideal_us": 1e6 * (seconds - ideal) / handoffs, "recomputed": recomputed})
            print(json.dumps(results[-1]), flush=True)
    finally:
        for server in servers.values():
            server.stop()

    def median(key):
        return statistics.median(result[key] for result in results)

    print(f"{results[0]['handoffs']} handoffs; medians of {len(results)} repetitions")
    print(f"large-only {median('large_only_s'):.2f} s ({median('large_server_s'):.2f} s by llama-server), relay "
          f"{median('relay_s'):.2f} s, two servers {median('servers_s'):.2f} s")
    print(f"a handoff beyond its batches: here {median('relay_handoff_us'):.0f} us of the program's own time; all time over "
          f"that of the batches {median('relay_over_ideal_us'):.0f} us here, {median('servers_over_ideal_us'):.0f} us with two servers")
    print(f"tokens that the servers read again without need: {results[0]['recomputed']}")


if __name__ == "__main__":
    main()
