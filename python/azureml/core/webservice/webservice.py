"""Services: deployed models, by name."""

import sys

from azureml._filters import has_all
from azureml._service import iso, translated
from azureml._support import refused, without_effect
from azureml.core.webservice import _deployment
from azureml.core.webservice._deployment import KIND_TAG, PROPERTY_TAG
from azureml.exceptions import UserErrorException, WebserviceException


class WebserviceDeploymentConfiguration:
    """The parent of the configurations for Model.deploy."""

    def __init__(self, type, description=None, tags=None, properties=None, primary_key=None, secondary_key=None,
                 location=None):  # fmt: skip
        self.type = type
        self.description = description
        self.tags = tags
        self.properties = properties
        self.primary_key = primary_key
        self.secondary_key = secondary_key
        self.location = location

    def validate_configuration(self):
        pass


class Webservice:
    """A deployed service by its name; an object of the class for its kind."""

    def __new__(cls, workspace, name):
        if cls is not Webservice:
            return super().__new__(cls)
        from azureml.core.webservice.targets import class_of

        found = _found(workspace, name)
        made = super().__new__(class_of(found.tags.get(KIND_TAG)))
        made._service = found
        return made

    def __init__(self, workspace, name):
        self.workspace = workspace
        if getattr(self, "_service", None) is None:
            self._service = _found(workspace, name)

    @classmethod
    def _of(cls, workspace, service):
        made = object.__new__(cls)
        made._service = service
        Webservice.__init__(made, workspace, service.name)
        return made

    @staticmethod
    @without_effect(
        image_name="services have no images", image_id="services have no images", image_digest="services have no images"
    )  # fmt: skip
    def list(workspace, compute_type=None, image_name=None, image_id=None, model_name=None, model_id=None, tags=None,
             properties=None, image_digest=None):  # fmt: skip
        from azureml.core.webservice.targets import class_of

        with translated(WebserviceException):
            services = workspace._slipway.services.list()
        found = [class_of(service.tags.get(KIND_TAG))._of(workspace, service) for service in services]
        return [
            service
            for service in found
            if (compute_type is None or service.compute_type.lower() == str(compute_type).lower())
            and (
                model_name is None or any(m.partition(":")[0] == model_name for m in service._service.models)
            )
            and (model_id is None or model_id in service._service.models)
            and has_all(service.tags, tags)
            and has_all(service.properties, properties)
        ]

    @staticmethod
    @refused("image configurations are of the SDK's past; Model.deploy takes an InferenceConfig")
    def deploy_from_model(workspace, name, models, image_config, deployment_config=None, deployment_target=None,
                          overwrite=False):  # fmt: skip
        pass

    # -- what it is -----------------------------------------------------------------------------------------

    @property
    def _record(self):
        return self._service.document

    @property
    def name(self):
        return self._service.name

    @property
    def compute_type(self):
        return self._service.tags.get(KIND_TAG, "ACI")

    @property
    def state(self):
        return self._record["state"]

    @property
    def error(self):
        return {"message": self._service.reason} if self._service.reason else None

    @property
    def description(self):
        return self._record.get("description") or None

    @property
    def tags(self):
        return {key: value for key, value in self._service.tags.items() if not key.startswith("azureml.")}

    @property
    def properties(self):
        size = len(PROPERTY_TAG)
        return {
            key[size:]: value for key, value in self._service.tags.items() if key.startswith(PROPERTY_TAG)
        }

    @property
    def scoring_uri(self):
        return self._service.scoring_url

    @property
    def swagger_uri(self):
        return self._service.url + "/swagger.json"

    @property
    def port(self):
        return self._record.get("port")

    @property
    def auth_enabled(self):
        return self._record["auth"] == "key"

    @property
    def token_auth_enabled(self):
        return self._record["auth"] == "token"

    @property
    def models(self):
        from azureml.core.model import Model

        return [Model(self.workspace, id=reference) for reference in self._service.models]

    @property
    def created_time(self):
        from slipway._times import parse_time

        return parse_time(self._record.get("created_at"))

    def __repr__(self):
        return (
            f"{type(self).__name__}(workspace={self.workspace!r}, name={self.name}, "
            f"compute_type={self.compute_type}, state={self.state}, scoring_uri={self.scoring_uri}, "
            f"tags={self.tags}, properties={self.properties})"
        )

    def serialize(self):
        return {
            "name": self.name,
            "description": self.description,
            "tags": self.tags,
            "properties": self.properties,
            "state": self.state,
            "createdTime": iso(self._record.get("created_at")),
            "computeType": self.compute_type,
            "workspaceName": self.workspace.name,
            "modelIds": self._service.models,
            "scoringUri": self.scoring_uri,
            "swaggerUri": self.swagger_uri,
            "authEnabled": self.auth_enabled,
            "error": self.error,
        }

    # -- its life -------------------------------------------------------------------------------------------

    def update_deployment_state(self):
        with translated(WebserviceException):
            self._service.refresh()

    def wait_for_deployment(self, show_output=False, timeout_sec=None):
        from slipway.errors import SlipwayError

        def say(text, end=""):
            if show_output:
                sys.stdout.write(text + end)
                sys.stdout.flush()

        say("Running")
        try:
            self._service.wait(timeout_sec or 3600, on_change=lambda state: say("."))
        except SlipwayError as error:
            say("\nFailed", "\n")
            raise WebserviceException(
                f"Service deployment of {self.name} did not succeed: {error}", inner_exception=error
            ) from error
        say("\nSucceeded", "\n")
        say(f'{self.compute_type} service creation operation finished, operation "Succeeded"', "\n")

    def update(self, *args, **kwargs):
        """Takes what the SDK's kinds of services take: models, inference_config, and the settings of a deployment."""
        if args:
            raise UserErrorException(
                "Webservice.update takes names: update(models=[model], description='...')"
            )
        for name in kwargs:
            if not _deployment.known_setting(name):
                raise TypeError(f"update() got an unexpected keyword argument '{name}'")
        document = _deployment.settings_document(kwargs)
        document.update(
            _deployment.content_document(self.workspace, kwargs.get("models"), kwargs.get("inference_config"))
        )
        if document:
            with translated(WebserviceException):
                self._service._document = self.workspace._patch("/services/{}", document, self.name)

    def delete(self):
        with translated(WebserviceException):
            self._service.delete()

    @without_effect(init="replicas are prepared like runs; their logs are here")
    def get_logs(self, num_lines=5000, init=False):
        with translated(WebserviceException):
            lines = self._service.logs().splitlines(True)
        return "".join(lines[-int(num_lines) :])

    # -- use ------------------------------------------------------------------------------------------------

    def run(self, input):
        """The answer to a body (a text, bytes, or what becomes JSON), read from JSON where it is that."""
        import json

        with translated(WebserviceException):
            answer = self._service.request(input)
        try:
            return json.loads(answer.decode("utf-8"))
        except ValueError:
            return answer

    def get_keys(self):
        """(primary, secondary)"""
        with translated(WebserviceException):
            return tuple(self._service.keys())

    def regen_key(self, key, set_key=None):
        if set_key is not None:
            raise WebserviceException("A key of one's own choice cannot be set: Slipway makes them")
        if not key or str(key).lower() not in ("primary", "secondary"):
            raise WebserviceException("The key is Primary or Secondary")
        with translated(WebserviceException):
            self._service.regenerate_key(str(key).lower())

    def get_token(self):
        """(token, when to ask for the next one)"""
        from slipway._times import parse_time

        with translated(WebserviceException):
            made = self._service.token()
        return made["token"], parse_time(made["expires_at"])


def _found(workspace, name):
    with translated(WebserviceException):
        return workspace._slipway.services[name]
