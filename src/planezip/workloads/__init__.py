"""The paper's models and the data that they train on."""

from planezip.workloads.checkpoints import cache_folder
from planezip.workloads.prepare import Prepared, warmed_up, with_pretrained_weights
from planezip.workloads.pretrained import load_pretrained
from planezip.workloads.registry import WORKLOADS, workload
from planezip.workloads.user import UserStep, user_step
from planezip.workloads.warmup import WarmUp, warm_up
from planezip.workloads.workload import Batch, Data, Workload

__all__ = [
    "WORKLOADS",
    "Batch",
    "Data",
    "Prepared",
    "UserStep",
    "WarmUp",
    "Workload",
    "cache_folder",
    "load_pretrained",
    "user_step",
    "warm_up",
    "warmed_up",
    "with_pretrained_weights",
    "workload",
]
