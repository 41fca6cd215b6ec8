"""Runs a plan in real training: saved activations are kept, swapped, compressed or replayed."""
