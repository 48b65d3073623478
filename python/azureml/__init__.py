"""Programs written for the Azure ML SDK v1, on Slipway.

A thin translation onto the package `slipway`: names, parameters, defaults and printed text are those of the SDK, the
work is done by a Slipway server. docs/azureml.md lists what is supported, accepted without effect, or refused.
"""
