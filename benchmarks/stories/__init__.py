"""Run the lab's stories over several seeds: `python -m benchmarks.stories [NAME...]`."""
