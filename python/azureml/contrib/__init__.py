"""Parts of the SDK that were called contributions."""
