"""What entry scripts of services import."""
