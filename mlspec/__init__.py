"""mlspec: one typed `mlproject.yaml` in, kustomize overlays for Argo CD out."""

__version__ = "0.1.0"
