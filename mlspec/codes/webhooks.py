"""Findings 330 to 369: what operators' webhooks refuse. What each means stands on its rule in
`mlspec/validation/webhooks/`, from where `mlspec explain` takes it."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import Code

WEBHOOKS: Final[dict[str, Code]] = {
    "MLS330": Code("name of a training job"),
    "MLS331": Code("training job that nobody runs"),
    "MLS332": Code("role that no PyTorchJob has"),
    "MLS333": Code("container of a training job without an image"),
    "MLS334": Code("container that trains is missing"),
    "MLS335": Code("pods of a PyTorchJob's role"),
    "MLS336": Code("elastic PyTorchJob that cannot be"),
    "MLS337": Code("TFJob with chief and master"),
    "MLS338": Code("training job without roles"),
    "MLS340": Code("name of an InferenceService"),
    "MLS341": Code("not exactly one server"),
    "MLS342": Code("name of a model's container"),
    "MLS343": Code("replicas of an InferenceService"),
    "MLS344": Code("autoscaler that KServe does not know"),
    "MLS345": Code("metric that the autoscaler does not scale on"),
    "MLS346": Code("target out of the metric's range"),
    "MLS347": Code("entry of autoScaling.metrics"),
    "MLS348": Code("deployment strategy in Knative mode"),
    "MLS349": Code("negative concurrency"),
    "MLS350": Code("incomplete logger of an InferenceService"),
    "MLS351": Code("protocol of a server of one's own"),
    "MLS352": Code("transformer that loads a model"),
    "MLS353": Code("several models in one server"),
    "MLS354": Code("model over several nodes"),
    "MLS355": Code("variable that KServe does not allow"),
    "MLS356": Code("canary of an InferenceService"),
    "MLS357": Code("encrypted model"),
    "MLS358": Code("scheme that KServe does not load"),
    "MLS359": Code("mode by a name of old"),
    "MLS360": Code("protocol, transport or kind of server of a SeldonDeployment"),
    "MLS361": Code("Kafka without its topics"),
    "MLS362": Code("shadow of a SeldonDeployment"),
    "MLS363": Code("shares that are not 100 together"),
    "MLS364": Code("predictors without names of their own"),
    "MLS365": Code("graph without an executor"),
    "MLS366": Code("unit that nothing runs"),
    "MLS367": Code("model server that cannot serve"),
    "MLS368": Code("incomplete logger of a SeldonDeployment"),
    "MLS369": Code("units of different transports"),
}
