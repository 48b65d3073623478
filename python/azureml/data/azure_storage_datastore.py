"""The names of azureml.data.azure_storage_datastore: one class serves them all."""

from azureml.core.datastore import Datastore as AbstractAzureStorageDatastore

AzureBlobDatastore = AbstractAzureStorageDatastore
AzureFileDatastore = AbstractAzureStorageDatastore

__all__ = ["AbstractAzureStorageDatastore", "AzureBlobDatastore", "AzureFileDatastore"]
