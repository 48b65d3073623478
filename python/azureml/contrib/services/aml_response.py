"""What such a `run` may return."""


class AMLResponse:
    def __init__(self, message, status_code, response_headers=None, json_str=False, run_time=None):
        import json

        self.response = json.dumps(message) if json_str else message
        self.status_code = status_code
        self.response_headers = response_headers or {}
