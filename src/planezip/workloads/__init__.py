"""The paper's models and the data that they train on."""

from planezip.workloads.checkpoints import cache_folder
from planezip.workloads.prepare import (
    NO_CACHE,
    Prepared,
    warmed_up,
    weights_after,
    with_pretrained_weights,
)
from planezip.workloads.pretrained import load_pretrained
from planezip.workloads.registry import WORKLOADS, workload
from planezip.workloads.resumable import WarmUp
from planezip.workloads.seeds import seed_all, seeded
from planezip.workloads.user import UserModel, UserStep, user_step
from planezip.workloads.user_training import warm_up_user
from planezip.workloads.warmup import warm_up
from planezip.workloads.workload import Batch, Data, Workload

__all__ = [
    "NO_CACHE",
    "WORKLOADS",
    "Batch",
    "Data",
    "Prepared",
    "UserModel",
    "UserStep",
    "WarmUp",
    "Workload",
    "cache_folder",
    "load_pretrained",
    "seed_all",
    "seeded",
    "user_step",
    "warm_up",
    "warm_up_user",
    "warmed_up",
    "weights_after",
    "with_pretrained_weights",
    "workload",
]
