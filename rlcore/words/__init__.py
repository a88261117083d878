"""Word tasks for the tiny language model: vocabulary, prompts, verifiers, sampling, measuring and pretraining.

Everything a reply is worth is an exact function of its text. Nothing here updates a policy, but for `pretrain`.
"""
