"""Shared by the interview room's tests: the bank, read once."""

from __future__ import annotations

import pytest
import torch

from interview.bank import Bank, load_bank

torch.set_num_threads(1)


@pytest.fixture(scope="session")
def bank() -> Bank:
    return load_bank()
