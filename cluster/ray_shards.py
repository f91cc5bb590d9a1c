"""The shards of a command as tasks of Ray.

    python ray_shards.py --shards 16 -- warploom sim sweep plan.toml --shard '{shard}' -o 'out/{index}.parquet'

`{shard}` becomes `3/16`, `{index}` `3`. A task whose worker is lost is begun again elsewhere; so is this program, by whoever started it.
"""

import argparse
import os
import subprocess
import sys

import ray


def run(command, shard, folder):
    """Runs one shard; its exit code and what it said."""
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return shard, done.returncode, done.stdout


def main():
    parser = argparse.ArgumentParser(description="Run the shards of a command as tasks of Ray.")
    parser.add_argument("--shards", type=int, required=True, help="how many there are")
    parser.add_argument("--address", help="a cluster's head, as HOST:PORT or `auto`; without it, this machine")
    parser.add_argument("--cpus", type=float, default=1, help="cores that a shard takes")
    parser.add_argument("--retries", type=int, default=3, help="how often a shard is begun again whose worker is lost")
    parser.add_argument("command", nargs=argparse.REMAINDER, help="the command, behind --")
    arguments = parser.parse_args()
    command = arguments.command[1:] if arguments.command[:1] == ["--"] else arguments.command
    if arguments.shards < 1 or not command:
        parser.error("there is nothing to run")

    ray.init(address=arguments.address, include_dashboard=False, logging_level="WARNING")
    task = ray.remote(num_cpus=arguments.cpus, max_retries=arguments.retries)(run)
    under_way = []
    for index in range(1, arguments.shards + 1):
        shard = f"{index}/{arguments.shards}"
        own = [word.replace("{shard}", shard).replace("{index}", str(index)) for word in command]
        under_way.append(task.remote(own, shard, os.getcwd()))

    failed = 0
    while under_way:
        (done,), under_way = ray.wait(under_way)
        try:
            shard, code, said = ray.get(done)
        except ray.exceptions.RayError as lost:
            shard, code, said = "a shard", 1, f"{lost}\n"
        print(f"{shard}: exit code {code}\n{said}", end="", flush=True)
        failed += code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
