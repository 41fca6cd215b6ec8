"""Deciding what to keep, swap and drop; pure functions from records to a Plan (paper III-B, C)."""

from planezip.planning.borrowed import borrowed_plan
from planezip.planning.bound import lower_bound_s
from planezip.planning.checker import check_plan
from planezip.planning.draft import HostPool
from planezip.planning.learned_ratios import LearnedRatios
from planezip.planning.online import run_online
from planezip.planning.online_checker import check_online
from planezip.planning.plan_cache import CacheReport, PlanCache
from planezip.planning.planner import Planner
from planezip.planning.plus import Effort
from planezip.planning.policies import (
    PAPER_POLICIES,
    POLICIES,
    Policy,
    best_plan,
    make_plan,
    policy,
    smallest_budget,
)
from planezip.planning.predictor import RatioTable, wire_size_error
from planezip.planning.problem import Problem
from planezip.planning.timeline_checker import check_timeline
from planezip.records import compressed_bytes

__all__ = [
    "PAPER_POLICIES",
    "POLICIES",
    "CacheReport",
    "Effort",
    "HostPool",
    "LearnedRatios",
    "PlanCache",
    "Planner",
    "Policy",
    "Problem",
    "RatioTable",
    "best_plan",
    "borrowed_plan",
    "check_online",
    "check_plan",
    "check_timeline",
    "compressed_bytes",
    "lower_bound_s",
    "make_plan",
    "policy",
    "run_online",
    "smallest_budget",
    "wire_size_error",
]
