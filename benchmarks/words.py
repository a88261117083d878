"""One GRPO update of the tiny language model, against TRL's trainer on a transformers model of the same weights.

An update is: 128 (or 256) replies of the same start to the same prompts, graded by the same verifier, and two
optimiser steps. Both run on one thread and take turns; times are this process's CPU seconds, start-up and the first five updates excluded.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from datasets.table import InMemoryTable
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from torch.profiler import ProfilerActivity, profile
from torch.utils.flop_counter import FlopCounterMode
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer

from rlcore.algorithms import by_key
from rlcore.config import Batch, RunConfig
from rlcore.engine import init, step, step_slices
from rlcore.kl import NoKl
from rlcore.optim import Adam
from rlcore.policies.parameters import Params
from rlcore.policies.transformer import Transformer
from rlcore.rng import generator
from rlcore.words.addition import Addition
from rlcore.words.env import Words
from rlcore.words.sample import by_uniforms, reply
from rlcore.words.vocabulary import TOKENS

START, GROUP, LR, TURNS = "addition-0", 16, 1e-4, 3
WARM, UPDATES = 5, 12


def ours(prompts: int) -> RunConfig:
    """GRPO without a KL term, as TRL's default: token ratio, clip 0.2, sequence mean, one pass in two minibatches."""
    algorithm = by_key("grpo").algorithm.model_copy(update={"kl": NoKl()})
    return RunConfig(
        env=Words(task=Addition()), policy=Transformer(start=START), algorithm=algorithm,
        batch=Batch(prompts=prompts, group_size=GROUP, epochs=1, minibatches=2),
        optim=Adam(lr=LR, eps=1e-8, max_grad_norm=1.0),
    )  # fmt: skip


def seconds_of_ours(prompts: int) -> list[float]:
    """CPU seconds of each of `UPDATES` updates."""
    config = ours(prompts)
    state, spent = init(config), []
    for _ in range(WARM + UPDATES):
        began = time.process_time()
        state, _ = step(state, config)
        spent.append(time.process_time() - began)
    return spent[WARM:]


def gpt2(params: Params) -> GPT2LMHeadModel:
    """The same network with the same weights as a transformers model."""
    config = GPT2Config(
        vocab_size=len(TOKENS), n_positions=32, n_embd=64, n_layer=2, n_head=4, n_inner=128, activation_function="relu",
        tie_word_embeddings=False, bos_token_id=0, eos_token_id=0, pad_token_id=1,
        resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config)
    ours_ = {("" if name.startswith("lm_head") else "transformer.") + name: x for name, x in params.items()}
    biases = {name: torch.zeros_like(x) for name, x in model.state_dict().items() if name.endswith("bias")}
    model.load_state_dict(ours_ | biases)
    return model


def tokenizer() -> PreTrainedTokenizerFast:
    """Our vocabulary as a transformers tokenizer."""
    words = Tokenizer(models.WordLevel({token: i for i, token in enumerate(TOKENS)}, unk_token=" "))
    words.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    words.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", pad_token=" ", padding_side="left")


def prompts_of(texts: Sequence[str]) -> Dataset:
    """A data set with a fingerprint of its own: making one would pickle the table, which not every pyarrow allows."""
    return Dataset(InMemoryTable.from_pydict({"prompt": list(texts)}), fingerprint="prompts")


class Stopwatch(TrainerCallback):
    """CPU time at the end of every optimiser step."""

    def __init__(self) -> None:
        self.marks: list[float] = []

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        self.marks.append(time.process_time())


def seconds_of_trl(prompts: int, folder: str) -> list[float]:
    """CPU seconds of each of `UPDATES` updates of TRL's trainer."""
    task, policy = Addition(), Transformer(start=START)
    texts = task.prompts("train").texts[: prompts * (WARM + UPDATES + 2)]
    settings = GRPOConfig(
        output_dir=folder, use_cpu=True, bf16=False, report_to="none", save_strategy="no", logging_strategy="no",
        per_device_train_batch_size=prompts * GROUP // 2, steps_per_generation=2, num_iterations=1,
        num_generations=GROUP, max_completion_length=task.max_length, temperature=1.0, beta=0.0, epsilon=0.2,
        loss_type="grpo", learning_rate=LR, lr_scheduler_type="constant", max_grad_norm=1.0, disable_tqdm=True,
        max_steps=2 * (WARM + UPDATES), gradient_checkpointing=False,
    )  # fmt: skip

    def exact(prompts: list[str], completions: list[str], **rest: Any) -> list[float]:
        return [task.grade(p, c, True)["exact"] for p, c in zip(prompts, completions, strict=True)]

    watch = Stopwatch()
    trainer = GRPOTrainer(
        model=gpt2(policy.init(task.shape(), generator(0, 0, "init"))), reward_funcs=exact, args=settings,
        train_dataset=prompts_of(texts), processing_class=tokenizer(), callbacks=[watch],
    )  # fmt: skip
    trainer.train()
    ends = watch.marks[2 * WARM - 1 :: 2]
    return [later - earlier for earlier, later in zip(ends, ends[1:], strict=False)]


def cached_and_not() -> tuple[float, float]:
    """CPU seconds to sample 128 replies with the cache, and with every prefix run anew for each token."""
    task, policy = Addition(), Transformer(start=START)
    params = policy.init(task.shape(), generator(0, 0, "init"))
    prompts = task.prompts("train").ids[:8]
    uniforms = torch.from_numpy(generator(0, 0, "actions").random((128, task.max_length), dtype=np.float32))
    best = [float("inf"), float("inf")]
    for _ in range(10):
        began = time.process_time()
        said = reply(
            policy, params, prompts, group_size=16, max_length=task.max_length, choose=by_uniforms(uniforms)
        )
        best[0] = min(best[0], time.process_time() - began)
        whole = torch.cat((prompts.repeat_interleave(16, 0), said.action), 1)
        began = time.process_time()
        with torch.no_grad():
            for t in range(said.action.shape[1]):
                tokens = whole[:, : prompts.shape[1] + t]
                hidden, _ = policy.extend(params, tokens, policy.past())
                torch.log_softmax(hidden[:, -1] @ params["lm_head.weight"].T, -1)
        best[1] = min(best[1], time.process_time() - began)
    return best[0], best[1]


MATRIX = ("aten::mm", "aten::bmm", "aten::addmm")


def phases(prompts: int, updates: int = 20) -> str:
    """Where an update's time goes, what share of it is matrix products, and how near they come to the machine's ceiling."""
    config = ours(prompts)
    state = init(config)
    spent: list[list[float]] = []
    for _ in range(WARM + updates):
        slices, marks = step_slices(state, config), [time.process_time()]
        while True:
            try:
                next(slices)
                marks.append(time.process_time())
            except StopIteration as done:
                state, _ = done.value
                marks.append(time.process_time())
                break
        spent.append([later - earlier for earlier, later in zip(marks, marks[1:], strict=False)])
    parts = [1e3 * statistics.median(part) for part in zip(*spent[WARM:], strict=True)]
    total = sum(parts)
    with FlopCounterMode(display=False) as counted:
        step(state, config)
    with profile(activities=[ProfilerActivity.CPU]) as seen:
        step(state, config)
    events = [e for e in seen.key_averages() if e.key.startswith("aten::")]
    products = sum(e.self_cpu_time_total for e in events if e.key in MATRIX) / sum(e.self_cpu_time_total for e in events)
    reached, ceiling = counted.get_total_flops() / total / 1e6, ceiling_gflops()
    return (
        f"An update of {prompts * GROUP} replies, {total:.0f} ms: sampling, grading and scoring {parts[0] / total:.0%}, the two "
        f"optimiser steps {sum(parts[1:-1]) / total:.0%}, records {parts[-1] / total:.0%}. Matrix products are {products:.0%} of all "
        f"kernel time; {sum(e.count for e in events):,} torch calls. {counted.get_total_flops() / 1e9:.2f} GFLOP at {reached:.0f} "
        f"GFLOP/s, {reached / ceiling:.0%} of the {ceiling:.0f} GFLOP/s that one product of this size reaches."
    )


def ceiling_gflops(rows: int = 576, inner: int = 64, columns: int = 192, repeats: int = 2000) -> float:
    """GFLOP/s of the update's largest matrix product, alone and repeated: what arithmetic could be had for."""
    a, b = torch.randn(rows, inner), torch.randn(inner, columns)
    began = time.process_time()
    for _ in range(repeats):
        a @ b
    return 2 * rows * inner * columns * repeats / (time.process_time() - began) / 1e9


def report() -> str:
    """A table: milliseconds an update, ours and TRL's, and their ratio; then what the cache is worth."""
    torch.set_num_threads(1)
    rows = ["| replies an update | ours, ms | TRL, ms | TRL / ours, median (range over turns) |", "|---|---|---|---|"]
    with tempfile.TemporaryDirectory() as folder:
        for prompts in (8, 16):
            mine, theirs = [], []
            for _ in range(TURNS):
                mine.append(statistics.median(seconds_of_ours(prompts)))
                theirs.append(statistics.median(seconds_of_trl(prompts, folder)))
            ratios = sorted(b / a for a, b in zip(mine, theirs, strict=True))
            rows.append(
                f"| {prompts * GROUP} | {1e3 * statistics.median(mine):.0f} | {1e3 * statistics.median(theirs):.0f} "
                f"| {statistics.median(ratios):.1f} ({ratios[0]:.1f}-{ratios[-1]:.1f}) |"
            )
    cached, anew = cached_and_not()
    rows.append(f"\nSampling 128 replies: {1e3 * cached:.1f} ms with the KV cache, {anew / cached:.1f} times as long without.")
    rows += [f"\n{phases(8)}", f"\n{phases(16)}"]
    return "## Tiny language model: one GRPO update\n\n" + "\n".join(rows)


if __name__ == "__main__":
    print(report())
