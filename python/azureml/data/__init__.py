"""Datasets, datastores and how runs take them."""

from azureml._lazy import lazy

lazy(
    __name__,
    {
        "azureml.data.file_dataset": "FileDataset",
        "azureml.data.tabular_dataset": "TabularDataset",
        "azureml.data.dataset_factory": "DataType FileDatasetFactory TabularDatasetFactory",
        "azureml.data.output_dataset_config": "OutputFileDatasetConfig OutputDatasetConfig",
        "azureml.data.dataset_consumption_config": "DatasetConsumptionConfig",
        "azureml.data.data_reference": "DataReference",
        "azureml.data.datapath": "DataPath",
    },
)
