"""Pipelines: they can be described; running them comes with a later version of Slipway."""
