"""Compute targets."""

from azureml._lazy import lazy

lazy(
    __name__,
    {
        "azureml.core.compute.compute": "ComputeTarget ComputeTargetStatus",
        "azureml.core.compute.amlcompute": "AmlCompute",
        "azureml.core.compute.elsewhere": "AksCompute AdlaCompute BatchCompute ComputeInstance DataFactoryCompute "
        "DatabricksCompute DsvmCompute HDInsightCompute KubernetesCompute KustoCompute RemoteCompute SynapseCompute",
    },
)
