"""What a model needs to be served."""


class ResourceConfiguration:
    def __init__(self, cpu=None, memory_in_gb=None, gpu=None):
        self.cpu = cpu
        self.memory_in_gb = memory_in_gb
        self.gpu = gpu
