"""What Seldon Core makes of a SeldonDeployment (github.com/seldonio/seldon-core/operator v1.16.0).

It does not build on its own, so every fact is read in its source; the files are named. Of what a platform may set, the
stock settings hold: config/manager/manager.yaml, config/manager/configmap.yaml, and `defaultUserID: "8888"` of the
Helm chart seldon-core-operator. Left out is what only routes requests (Ambassador's annotation on Services, Istio's
objects) and what neither mlspec nor its users' routers and combiners need: explainers, autoscalers, `ssl`.
"""

from mlspec.projection.seldon.deployments import seldon_deployment

__all__ = ["seldon_deployment"]
