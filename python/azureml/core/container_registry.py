"""Where an image comes from."""


class ContainerRegistry:
    def __init__(self):
        self.address = None
        self.username = None
        self.password = None
        self.registry_identity = None
