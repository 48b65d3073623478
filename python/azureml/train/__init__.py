"""Estimators and hyper-parameter search of the SDK."""
